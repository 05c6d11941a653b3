// Pairwise: every product rounded, adjacent pairs added, then pairs of pairs; an odd one waits.
// Order: a balanced tree over k.
// Promise: fp32; at most 1 + ceil(log2 n) roundings on a path.
// Cost: a stack of log2(n) partial sums per output in registers, two additions a term; one thread per output,
// because a tile of such stacks would not fit the registers.
#include "kernels/gemm/gemm_launch.cuh"
#include "kernels/support/gather.cuh"
#include "kernels/support/pairwise_sum.hpp"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "pairwise",
        .summary = "products rounded, added in pairs",
        .source = "kernels/gemm/pairwise.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return with_bias_after(p, "fp32 | fma | order k | pairwise"); },
        .unsupported = gemm_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_gemm(args, 1, [](const GemmMap& map, const LaunchArgs& a) {
                return launch_gather<PairwiseSum>("pairwise", map, a);
              });
            },
    },
    {"gemm", "linear"}};

}  // namespace
}  // namespace ulpscope
