// Gather with the taps outside: every tap adds all its input channels.
// Order: one chain, k outer, input channels inner.
// Promise: fp32 FMA. Same terms as gather_c_k, other bits: the pair shows what order alone can do.
// Cost: as gather_c_k, one thread per output; the tap's coordinate is worked out once per tap.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/gather.cuh"

namespace ulpscope {
namespace {

const Register variant{{
    .name = "gather_k_c",
    .op = "conv_transpose1d",
    .summary = "direct gather, taps outside, input channels inside",
    .source = "kernels/conv_transpose1d/gather_k_c.cu",
    .where = Where::cuda,
    .plan = [](const Problem&, Mode) { return "fp32 | fma | order " + conv_transpose1d_order(0); },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          return launch_gather<FmaChain>("gather_k_c", conv_transpose1d_map(*args.problem, 0), args);
        },
}};

}  // namespace
}  // namespace ulpscope
