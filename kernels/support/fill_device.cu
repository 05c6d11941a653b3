// One thread per element; neighbours share a counter and compute it twice, which costs less than branching.
#include "kernels/support/fill_device.hpp"
#include "kernels/support/launch.cuh"

namespace ulpscope::cuda {
namespace {

template <class Storage>
__global__ void fill_elements(FillParams params, FillKey key, std::int64_t count, Storage* out) {
  for (std::int64_t i = global_thread(); i < count; i += grid_threads())
    out[i] = static_cast<Storage>(fill_element(params, key, static_cast<std::uint64_t>(i)));
}

template <class Storage>
void fill_as(const FillParams& params, const FillKey& key, std::int64_t count, void* out,
             cudaStream_t stream) {
  constexpr int kThreads = 256;
  launch("fill_elements", fill_elements<Storage>, dim3(blocks_for(count, kThreads)), dim3(kThreads), 0,
         stream, params, key, count, static_cast<Storage*>(out));
}

}  // namespace

void fill_on_device(const FillParams& params, const FillKey& key, std::int64_t count, void* out,
                    cudaStream_t stream) {
  switch (params.format) {
    case FillFormat::f64:
      return fill_as<std::uint64_t>(params, key, count, out, stream);
    case FillFormat::f32:
      return fill_as<std::uint32_t>(params, key, count, out, stream);
    case FillFormat::f16:
    case FillFormat::bf16:
      return fill_as<std::uint16_t>(params, key, count, out, stream);
  }
}

}  // namespace ulpscope::cuda
