// Channel split: the input channels are cut into 4 slices, one thread each; the slices are joined in shared
// memory. Order: within a slice one chain, input channels outer, taps inner; slice sums added in slice order.
// Promise: fp32 FMA; about n/4 + 3 roundings on a path.
// Cost: four threads an output: what split-K buys where there are few outputs and many channels.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/launch.cuh"

namespace ulpscope {
namespace {

constexpr int kSlices = 4, kPositions = 64;

// Blocks by number: tiles of positions innermost, then output channels, then groups and images.
__global__ void __launch_bounds__(kSlices* kPositions)
    channel_split(const ConvTranspose1dMap map, const float* __restrict__ x, const float* __restrict__ w,
                  const float* __restrict__ bias, float* __restrict__ out, std::int64_t tiles) {
  __shared__ float part[kSlices][kPositions];
  const int lane = static_cast<int>(threadIdx.x) % kPositions,
            slice = static_cast<int>(threadIdx.x) / kPositions;
  const int columns = static_cast<int>((map.positions + kPositions - 1) / kPositions);
  const int share = (map.order.channels + kSlices - 1) / kSlices;
  const int first = min(slice * share, map.order.channels), last = min(first + share, map.order.channels);

  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    int tile_column, row, group;
    std::int64_t rest = divide(tile, columns, tile_column);
    rest = divide(rest, map.rows, row);
    const std::int64_t image = divide(rest, map.groups, group);
    const std::int64_t p = static_cast<std::int64_t>(tile_column) * kPositions + lane;
    const auto column = map.column(image, group, p < map.positions ? p : 0);

    float sum = 0;
    for (int c = first; c < last; ++c)
      for (int k = 0; k < map.order.kw; ++k) {
        const std::int64_t i = map.input(column, {c, 0, k});
        if (i >= 0) sum = __fmaf_rn(x[i], w[map.weight(group, row, {c, 0, k})], sum);
      }
    part[slice][lane] = sum;
    __syncthreads();
    if (slice == 0 && p < map.positions) {
      for (int s = 1; s * share < map.order.channels; ++s) sum = __fadd_rn(sum, part[s][lane]);
      if (bias) sum = __fadd_rn(sum, bias[static_cast<std::int64_t>(group) * map.rows + row]);
      out[map.output(image, group, row, p)] = sum;
    }
    __syncthreads();
  }
}

const Register variant{{
    .name = "channel_split_4",
    .op = "conv_transpose1d",
    .summary = "input channels in 4 slices, slice sums added in order",
    .source = "kernels/conv_transpose1d/channel_split_4.cu",
    .where = Where::cuda,
    .plan = [](const Problem&,
               Mode) { return "fp32 | fma | order " + conv_transpose1d_order() + " | split 4 of c"; },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          const ConvTranspose1dMap map = conv_transpose1d_map(*args.problem);
          const std::int64_t tiles =
              map.images * map.groups * map.rows * cuda::ceil_div(map.positions, kPositions);
          const dim3 grid = cuda::blocks_for(args, tiles, 1), block = kSlices * kPositions;
          cuda::launch("channel_split_4", channel_split, grid, block, 0,
                       static_cast<cudaStream_t>(args.stream), map, static_cast<const float*>(args.a),
                       static_cast<const float*>(args.b), static_cast<const float*>(args.bias),
                       static_cast<float*>(args.out), tiles);
          return cuda::shaped_notes("channel_split_4", grid, block);
        },
}};

}  // namespace
}  // namespace ulpscope
