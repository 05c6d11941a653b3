// Double throughout: products are exact in double, one rounding to fp32 at the end.
// Order: channels, then taps; it moves the result by 2^-29 of an fp32 rounding.
// Promise: better than fp32: correctly rounded unless the sum lies within n*2^-53*S of a tie.
// Cost: fp64 FMA at half the fp32 rate on data-centre chips, at 1/64 of it elsewhere.
#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "double_chain",
        .summary = "double products and sum, rounded once",
        .source = "kernels/conv2d/double_chain.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return "fp32 | fma fp64 | order " + conv2d_order(p); },
        .unsupported = conv2d_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_tile<DoubleChain, 64, 64, 8, 4, 4>("double_chain", conv2d_map(*args.problem),
                                                               args);
            },
    },
    {"conv1d", "conv2d"}};

}  // namespace
}  // namespace ulpscope
