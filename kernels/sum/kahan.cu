// Kahan's compensated sum in fp32; the product enters through an FMA with the compensation.
// Order: one chain, ascending.
// Promise: error about 2u*|sum| + O(n u^2)*S, whatever the number of terms.
// Cost: four dependent operations a term, one thread.
#include "kernels/sum/reduction.cuh"

namespace ulpscope {
namespace {

const Register variant{reduction_variant("kahan", "Kahan-compensated fp32 sum", "fp32 | kahan_fma | order k",
                                         [](const LaunchArgs& args) {
                                           return launch_chains<Kahan>("kahan", args,
                                                                       args.contraction->red.at(0).size);
                                         }),
                       {"dot", "sum", "mean"}};

}  // namespace
}  // namespace ulpscope
