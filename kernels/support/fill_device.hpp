#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/support/fill.hpp"

namespace ulpscope::cuda {

/// Elements [0, count) of a tensor into device memory, asynchronously; the bits are fill_element's, so the
/// tensor is the host's without a transfer.
void fill_on_device(const FillParams& params, const FillKey& key, std::int64_t count, void* out,
                    cudaStream_t stream);

}  // namespace ulpscope::cuda
