// Scatter: a thread takes one input position of 8 input channels and adds its products to all outputs they
// reach. Order: chains of up to 8 channels of one tap, joined by atomics in whatever order the device gets to
// them. Promise: fp32 FMA, not the same bits twice; the bound of any order holds. PTX lets atomic additions
// to global memory flush subnormal sums to zero. Cost: an atomic per output, tap and 8 channels; no missing
// taps to skip, whatever the stride.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/launch.cuh"

namespace ulpscope {
namespace {

constexpr int kChannels = 8;

__global__ void __launch_bounds__(256) add_bias(const ConvTranspose1dMap map, const float* __restrict__ bias,
                                                float* __restrict__ out, std::int64_t outputs) {
  const std::int64_t channels = static_cast<std::int64_t>(map.groups) * map.rows;
  for (std::int64_t o = cuda::global_thread(); o < outputs; o += cuda::grid_threads())
    out[o] = __fadd_rn(out[o], bias[o / map.positions % channels]);
}

__global__ void __launch_bounds__(256)
    scatter(const ConvTranspose1dMap map, const float* __restrict__ x, const float* __restrict__ w,
            float* __restrict__ out, std::int64_t work) {
  const int chunks = (map.order.channels + kChannels - 1) / kChannels;
  for (std::int64_t item = cuda::global_thread(); item < work; item += cuda::grid_threads()) {
    int position, chunk, group;
    std::int64_t rest = divide(item, map.length, position);
    rest = divide(rest, chunks, chunk);
    const std::int64_t image = divide(rest, map.groups, group);
    const int c0 = chunk * kChannels, count = min(kChannels, map.order.channels - c0);

    float v[kChannels] = {};
    const float* source =
        x + ((image * map.groups + group) * map.order.channels + c0) * map.length + position;
#pragma unroll
    for (int c = 0; c < kChannels; ++c)
      if (c < count) v[c] = source[static_cast<std::int64_t>(c) * map.length];

    for (int row = 0; row < map.rows; ++row)
      for (int k = 0; k < map.order.kw; ++k) {
        const std::int64_t o = static_cast<std::int64_t>(position) * map.stride - map.padding +
                               static_cast<std::int64_t>(k) * map.dilation;
        if (o < 0 || o >= map.positions) continue;
        float sum = 0;
#pragma unroll
        for (int c = 0; c < kChannels; ++c)
          if (c < count) sum = __fmaf_rn(v[c], w[map.weight(group, row, {c0 + c, 0, k})], sum);
        atomicAdd(&out[map.output(image, group, row, o)], sum);
      }
  }
}

const Register variant{{
    .name = "scatter_atomics",
    .op = "conv_transpose1d",
    .summary = "scatter with atomics: no fixed order",
    .source = "kernels/conv_transpose1d/scatter_atomics.cu",
    .where = Where::cuda,
    .deterministic = false,
    .plan =
        [](const Problem&, Mode) {
          return "fp32 | fma | order " + conv_transpose1d_order(kChannels) + " | chunks 8 unordered";
        },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          const ConvTranspose1dMap map = conv_transpose1d_map(*args.problem);
          const auto stream = static_cast<cudaStream_t>(args.stream);
          auto* out = static_cast<float*>(args.out);
          const std::int64_t outputs = map.images * map.groups * map.rows * map.positions;
          cuda::check(cudaMemsetAsync(out, 0, static_cast<std::size_t>(outputs) * sizeof(float), stream),
                      "cudaMemsetAsync of the output");
          const std::int64_t work =
              map.images * map.groups * cuda::ceil_div(map.order.channels, kChannels) * map.length;
          const dim3 grid = cuda::blocks_for(work, 256);
          cuda::launch("scatter_atomics", scatter, grid, 256, 0, stream, map,
                       static_cast<const float*>(args.a), static_cast<const float*>(args.b), out, work);
          if (args.bias != nullptr)
            cuda::launch("scatter_atomics bias", add_bias, cuda::blocks_for(outputs, 256), 256, 0, stream,
                         map, static_cast<const float*>(args.bias), out, outputs);
          return LaunchNotes{"scatter_atomics", {cuda::describe_launch(grid, 256)}, 0};
        },
}};

}  // namespace
}  // namespace ulpscope
