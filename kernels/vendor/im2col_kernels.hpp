#pragma once
#include <cuda_runtime_api.h>

#include "kernels/vendor/im2col.hpp"

namespace ulpscope::vendor {

/// column[n][c * taps + k][o] = x[first_image + n][group, c][(o + padding - k*dilation) / stride], or zero
/// where there is no such element. `type` is only copied, never computed with.
void gather_columns(const Im2col& map, DType type, const void* x, std::int64_t first_image,
                    std::int64_t images, std::int64_t group, void* columns, cudaStream_t stream);

/// filter[m][c * taps + k] = w[group, c][m][k], from the layout [Cin, Cout/groups, taps].
void permute_filter(const Im2col& map, DType type, const void* w, std::int64_t group, void* filter,
                    cudaStream_t stream);

}  // namespace ulpscope::vendor
