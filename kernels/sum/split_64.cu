// Split: 64 equal slices (the last one short), a chain each, slice sums added in order.
// Order: ascending within a slice, then slice after slice.
// Promise: fp32 FMA; n/64 + 63 roundings on a path.
// Cost: 64 blocks, one thread of each adding.
#include "kernels/sum/reduction.cuh"

namespace ulpscope {
namespace {

const Register variant{reduction_variant("split_64", "terms in 64 slices, slice sums added in order",
                                         "fp32 | fma | order k | split 64",
                                         [](const LaunchArgs& args) {
                                           return launch_chains<FmaChain>(
                                               "split_64", args,
                                               cuda::ceil_div(args.contraction->red.at(0).size, 64));
                                         }),
                       {"dot", "sum", "mean"}};

}  // namespace
}  // namespace ulpscope
