// Warp tree: 32 lanes share an output, term k goes to lane k mod 32, and shuffles join the lanes.
// Order: input channels outer, taps inner, dealt out to 32 chains; then halving: 16, 8, 4, 2, 1.
// Promise: fp32 FMA; n/32 + 5 roundings on a path.
// Cost: a warp per output and five shuffles, so idle lanes below 32 terms; scattered loads.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/gather.hpp"
#include "kernels/support/launch.cuh"

namespace ulpscope {
namespace {

__global__ void __launch_bounds__(256)
    warp_tree(const ConvTranspose1dMap map, const float* __restrict__ x, const float* __restrict__ w,
              const float* __restrict__ bias, float* __restrict__ out, std::int64_t outputs) {
  const int lane = static_cast<int>(threadIdx.x) % 32, depth = map.order.depth();
  // All lanes of a warp see the same o, so they meet in every shuffle.
  for (std::int64_t o = cuda::global_thread() / 32; o < outputs; o += cuda::grid_threads() / 32) {
    const OutputPlace at = place_of(map, o);
    const auto column = map.column(at.image, at.group, at.position);
    float sum = 0;
    for (int k = lane; k < depth; k += 32) {
      const Tap tap = map.order.at(k);
      const std::int64_t i = map.input(column, tap);
      if (i >= 0) sum = __fmaf_rn(x[i], w[map.weight(at.group, at.row, tap)], sum);
    }
#pragma unroll
    for (int half = 16; half > 0; half /= 2) sum = __fadd_rn(sum, __shfl_down_sync(0xffffffffu, sum, half));
    if (lane == 0)
      out[o] = bias ? __fadd_rn(sum, bias[static_cast<std::int64_t>(at.group) * map.rows + at.row]) : sum;
  }
}

const Register variant{{
    .name = "warp_tree_32",
    .op = "conv_transpose1d",
    .summary = "a warp per output, 32 fp32 FMA chains joined by shuffles",
    .source = "kernels/conv_transpose1d/warp_tree_32.cu",
    .where = Where::cuda,
    .plan = [](const Problem&,
               Mode) { return "fp32 | fma | order " + conv_transpose1d_order() + " | lanes 32 butterfly"; },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          const ConvTranspose1dMap map = conv_transpose1d_map(*args.problem);
          const std::int64_t outputs = map.images * map.groups * map.rows * map.positions;
          const int threads = cuda::threads_for(args, 256);
          const dim3 grid = cuda::blocks_for(args, outputs * 32, threads);
          cuda::launch("warp_tree_32", warp_tree, grid, threads, 0, static_cast<cudaStream_t>(args.stream),
                       map, static_cast<const float*>(args.a), static_cast<const float*>(args.b),
                       static_cast<const float*>(args.bias), static_cast<float*>(args.out), outputs);
          return cuda::shaped_notes("warp_tree_32", grid, threads);
        },
}};

}  // namespace
}  // namespace ulpscope
