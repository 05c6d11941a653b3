// Blocked: a chain for every 1024 terms, block sums added in order.
// Order: ascending, cut into runs of 1024.
// Promise: fp32 FMA; 1024 + n/1024 roundings on a path.
// Cost: a block per run, one thread of it adding.
#include "kernels/sum/reduction.cuh"

namespace ulpscope {
namespace {

const Register variant{
    reduction_variant(
        "blocked_1024", "fp32 FMA chains of 1024 terms, added in order", "fp32 | fma | order k | chunks 1024",
        [](const LaunchArgs& args) { return launch_chains<FmaChain>("blocked_1024", args, 1024); }),
    {"dot", "sum", "mean"}};

}  // namespace
}  // namespace ulpscope
