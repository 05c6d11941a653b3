// Direct gather, the kernel that an engineer writes first: one thread per output, input channels outside,
// taps inside. Order: one chain, input channels outer, taps ascending inside. cuDNN's own fp32 engine adds in
// this order, so with TF32 off the two agree in every bit. Promise: fp32 FMA; missing taps are left out, not
// multiplied by zero. Cost: two loads an FMA; neighbouring threads share them in L1.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/gather.hpp"
#include "kernels/support/launch.cuh"

namespace ulpscope {
namespace {

__global__ void __launch_bounds__(256)
    gather_c_k(const ConvTranspose1dMap map, const float* __restrict__ x, const float* __restrict__ w,
               const float* __restrict__ bias, float* __restrict__ out, std::int64_t outputs) {
  for (std::int64_t o = cuda::global_thread(); o < outputs; o += cuda::grid_threads()) {
    const OutputPlace at = place_of(map, o);
    const auto column = map.column(at.image, at.group, at.position);
    const float* row = x + column.base;
    float sum = 0;
    for (int c = 0; c < map.order.channels; ++c, row += map.length) {
      const float* taps = w + map.weight(at.group, at.row, {c, 0, 0});
      for (int k = 0; k < map.order.kw; ++k) {
        const int i = map.coordinate(column, k);
        if (i >= 0) sum = __fmaf_rn(row[i], taps[k], sum);
      }
    }
    out[o] = bias ? __fadd_rn(sum, bias[static_cast<std::int64_t>(at.group) * map.rows + at.row]) : sum;
  }
}

const Register variant{{
    .name = "gather_c_k",
    .op = "conv_transpose1d",
    .summary = "direct gather, input channels outside, taps inside",
    .source = "kernels/conv_transpose1d/gather_c_k.cu",
    .where = Where::cuda,
    .plan = [](const Problem&, Mode) { return "fp32 | fma | order " + conv_transpose1d_order(); },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          const ConvTranspose1dMap map = conv_transpose1d_map(*args.problem);
          const std::int64_t outputs = map.images * map.groups * map.rows * map.positions;
          const int threads = cuda::threads_for(args, 256);
          const dim3 grid = cuda::blocks_for(args, outputs, threads);
          cuda::launch("gather_c_k", gather_c_k, grid, threads, 0, static_cast<cudaStream_t>(args.stream),
                       map, static_cast<const float*>(args.a), static_cast<const float*>(args.b),
                       static_cast<const float*>(args.bias), static_cast<float*>(args.out), outputs);
          return cuda::shaped_notes("gather_c_k", grid, threads);
        },
}};

}  // namespace
}  // namespace ulpscope
