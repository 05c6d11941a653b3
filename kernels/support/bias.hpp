#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/support/registry.hpp"

namespace ulpscope::cuda {

/// out[i] = rounded(out[i] + bias[(i / inner) % channels]): the separate kernel with which frameworks add a
/// bias to a library's result (plan: `bias after`).
void add_bias(void* out, DType out_type, const void* bias, DType bias_type, std::int64_t count,
              std::int64_t inner, std::int64_t channels, cudaStream_t stream);

/// The same for a launch whose problem has a bias: channels of a convolution, columns of a matrix product.
void add_contraction_bias(const LaunchArgs& args);

}  // namespace ulpscope::cuda
