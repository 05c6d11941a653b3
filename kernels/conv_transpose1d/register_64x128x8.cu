// Register tile: 64 output channels x 128 positions, 8 terms at a time, 8x4 outputs a thread.
// Order: one chain, input channels outer, taps inner: that of cuDNN's fp32 engine.
// Promise: fp32 FMA, bit for bit gather_c_k.
// Cost: 12 shared loads feed 32 FMA.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{{
    .name = "register_64x128x8",
    .op = "conv_transpose1d",
    .summary = "register tile 64x128x8, one fp32 FMA chain",
    .source = "kernels/conv_transpose1d/register_64x128x8.cu",
    .where = Where::cuda,
    .plan = [](const Problem&, Mode) { return "fp32 | fma | order " + conv_transpose1d_order(); },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          return launch_tile<FmaChain, 64, 128, 8, 8, 4>("register_64x128x8",
                                                         conv_transpose1d_map(*args.problem), args);
        },
}};

}  // namespace
}  // namespace ulpscope
