// Register tile: 128 output channels x 128 positions, 8 terms at a time, 8x8 outputs a thread.
// Order: one chain over channels, then taps.
// Promise: fp32 FMA, bit for bit the naive kernel.
// Cost: 16 shared loads feed 64 FMA, so arithmetic bounds it; 64 sums and 16 operands fill the registers.
#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "register_128x128x8",
        .summary = "register tile 128x128x8, one fp32 FMA chain",
        .source = "kernels/conv2d/register_128x128x8.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return "fp32 | fma | order " + conv2d_order(p); },
        .unsupported = conv2d_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_tile<FmaChain, 128, 128, 8, 8, 8>("register_128x128x8", conv2d_map(*args.problem),
                                                              args);
            },
    },
    {"conv1d", "conv2d"}};

}  // namespace
}  // namespace ulpscope
