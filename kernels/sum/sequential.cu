// Sequential: one chain over all terms.
// Order: ascending.
// Promise: fp32 FMA, n roundings: the worst order a correct kernel has, and the simplest to predict.
// Cost: one thread adds while its block loads; nothing else can be shared out.
#include "kernels/sum/reduction.cuh"

namespace ulpscope {
namespace {

const Register variant{reduction_variant("sequential", "one fp32 FMA chain", "fp32 | fma | order k",
                                         [](const LaunchArgs& args) {
                                           return launch_chains<FmaChain>("sequential", args,
                                                                          args.contraction->red.at(0).size);
                                         }),
                       {"dot", "sum", "mean"}};

}  // namespace
}  // namespace ulpscope
