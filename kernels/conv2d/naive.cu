// Naive: one thread per output, three loops.
// Order: one chain, input channels outermost, then the taps row by row.
// Promise: fp32 FMA; taps on padding are left out, not multiplied by zero.
// Cost: two loads an FMA; neighbouring threads share them in L1.
#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/support/gather.hpp"
#include "kernels/support/launch.cuh"

namespace ulpscope {
namespace {

__global__ void __launch_bounds__(256)
    naive(const Conv2dMap map, const float* __restrict__ x, const float* __restrict__ w,
          const float* __restrict__ bias, float* __restrict__ out, std::int64_t outputs) {
  for (std::int64_t o = cuda::global_thread(); o < outputs; o += cuda::grid_threads()) {
    const OutputPlace at = place_of(map, o);
    const auto column = map.column(at.image, at.group, at.position);
    const float* filter = w + map.weight(at.group, at.row, {0, 0, 0});
    float sum = 0;
    for (int c = 0; c < map.order.channels; ++c)
      for (int r = 0; r < map.order.kh; ++r)
        for (int s = 0; s < map.order.kw; ++s, ++filter) {
          const std::int64_t i = map.input(column, {c, r, s});
          if (i >= 0) sum = __fmaf_rn(x[i], *filter, sum);
        }
    out[o] = bias ? __fadd_rn(sum, bias[static_cast<std::int64_t>(at.group) * map.rows + at.row]) : sum;
  }
}

const Register variant{
    {
        .name = "naive",
        .summary = "one thread per output, one fp32 FMA chain",
        .source = "kernels/conv2d/naive.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return "fp32 | fma | order " + conv2d_order(p); },
        .unsupported = conv2d_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              const Conv2dMap map = conv2d_map(*args.problem);
              const std::int64_t outputs = map.images * map.groups * map.rows * map.positions;
              const int threads = cuda::threads_for(args, 256);
              const dim3 grid = cuda::blocks_for(args, outputs, threads);
              cuda::launch("naive", naive, grid, threads, 0, static_cast<cudaStream_t>(args.stream), map,
                           static_cast<const float*>(args.a), static_cast<const float*>(args.b),
                           static_cast<const float*>(args.bias), static_cast<float*>(args.out), outputs);
              return cuda::shaped_notes("naive", grid, threads);
            },
    },
    {"conv1d", "conv2d"}};

}  // namespace
}  // namespace ulpscope
