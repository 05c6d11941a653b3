// Double throughout: products are exact in double, one rounding to fp32 at the end.
// Order: input channels outer, taps inner; it moves the result by 2^-29 of an fp32 rounding.
// Promise: better than fp32: correctly rounded unless the sum lies within n*2^-53*S of a tie.
// Cost: fp64 FMA at half the fp32 rate on data-centre chips, at 1/64 of it elsewhere.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{{
    .name = "double_chain",
    .op = "conv_transpose1d",
    .summary = "double products and sum, rounded once",
    .source = "kernels/conv_transpose1d/double_chain.cu",
    .where = Where::cuda,
    .plan = [](const Problem&, Mode) { return "fp32 | fma fp64 | order " + conv_transpose1d_order(); },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          return launch_tile<DoubleChain, 64, 64, 8, 4, 4>("double_chain",
                                                           conv_transpose1d_map(*args.problem), args);
        },
}};

}  // namespace
}  // namespace ulpscope
