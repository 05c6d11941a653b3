// Shared-memory tile: 64 output channels x 64 positions, 8 terms at a time, 4x4 outputs a thread.
// Order: one chain over channels, then taps; the tile changes who loads, not what is added when.
// Promise: fp32 FMA, bit for bit the naive kernel.
// Cost: each input and weight is read from global memory once per 64 outputs instead of once per output.
#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "tile_64x64x8",
        .summary = "shared-memory tile 64x64x8, one fp32 FMA chain",
        .source = "kernels/conv2d/tile_64x64x8.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return "fp32 | fma | order " + conv2d_order(p); },
        .unsupported = conv2d_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_tile<FmaChain, 64, 64, 8, 4, 4>("tile_64x64x8", conv2d_map(*args.problem), args);
            },
    },
    {"conv1d", "conv2d"}};

}  // namespace
}  // namespace ulpscope
