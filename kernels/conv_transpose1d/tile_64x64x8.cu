// Shared-memory tile: 64 output channels x 64 positions, 8 terms (one tap of 8 input channels) at a time.
// Order: chunks of 8 input channels, within a chunk the taps, within a tap the channels of the chunk.
// Promise: fp32 FMA, one chain.
// Cost: each input and weight is read from global memory once per 64 outputs; a stride above 1 leaves most
// taps of an output missing, and the tile multiplies their zeros.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{{
    .name = "tile_64x64x8",
    .op = "conv_transpose1d",
    .summary = "shared-memory tile 64x64x8, chunks of 8 channels",
    .source = "kernels/conv_transpose1d/tile_64x64x8.cu",
    .where = Where::cuda,
    .plan = [](const Problem&, Mode) { return "fp32 | fma | order " + conv_transpose1d_order(8); },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          return launch_tile<FmaChain, 64, 64, 8, 4, 4>("tile_64x64x8",
                                                        conv_transpose1d_map(*args.problem, 8), args);
        },
}};

}  // namespace
}  // namespace ulpscope
