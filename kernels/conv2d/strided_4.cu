// Four strided partial sums: term k goes to chain k mod 4, the chains are added in order.
// Order: channels, then taps, dealt out to four chains.
// Promise: fp32 FMA; roundings on a path n/4 + 3, so a smaller bound than one chain's.
// Cost: four times the accumulators, but four independent FMA in flight where one chain waits for itself.
#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "strided_4",
        .summary = "four strided fp32 FMA chains, added in order",
        .source = "kernels/conv2d/strided_4.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return "fp32 | fma | order " + conv2d_order(p) + " | lanes 4"; },
        .unsupported = conv2d_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_tile<StridedChains<4>, 64, 64, 8, 4, 4>("strided_4", conv2d_map(*args.problem),
                                                                    args);
            },
    },
    {"conv1d", "conv2d"}};

}  // namespace
}  // namespace ulpscope
