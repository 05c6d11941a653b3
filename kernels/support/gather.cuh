#pragma once
// One thread per output: no sharing but the caches'. For sums that admit no padding with zeros, and as the
// simplest case.
#include "kernels/support/gather.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/registry.hpp"

namespace ulpscope {

template <class Sum, class Map>
__global__ void __launch_bounds__(256)
    gather_kernel(const Map map, const float* __restrict__ x, const float* __restrict__ w,
                  const float* __restrict__ bias, float* __restrict__ out, std::int64_t outputs) {
  for (std::int64_t o = cuda::global_thread(); o < outputs; o += cuda::grid_threads())
    out[o] = gather<Sum>(map, place_of(map, o), x, w, bias);
}

/// fp32 tensors in a LaunchArgs -> one launch.
template <class Sum, class Map>
LaunchNotes launch_gather(const char* name, const Map& map, const LaunchArgs& args) {
  const std::int64_t outputs = map.images * map.groups * map.rows * map.positions;
  if (outputs == 0) return {"nothing to do", {}, 0};
  const int threads = cuda::threads_for(args, 256);
  const dim3 grid = cuda::blocks_for(args, outputs, threads);
  cuda::launch(name, gather_kernel<Sum, Map>, grid, threads, 0, static_cast<cudaStream_t>(args.stream), map,
               static_cast<const float*>(args.a), static_cast<const float*>(args.b),
               static_cast<const float*>(args.bias), static_cast<float*>(args.out), outputs);
  return cuda::shaped_notes(name, grid, threads);
}

}  // namespace ulpscope
