// Blocked: a fresh chain for every 32 terms, chunk sums added in order.
// Order: k ascending, cut into chunks of 32.
// Promise: fp32 FMA; 32 + n/32 roundings on a path instead of n.
// Cost: one more addition per 32 terms and twice the accumulators.
#include "kernels/gemm/gemm_launch.cuh"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "blocked_32",
        .summary = "fp32 FMA chains of 32 terms, added in order",
        .source = "kernels/gemm/blocked_32.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return with_bias_after(p, "fp32 | fma | order k | chunks 32"); },
        .unsupported = gemm_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_gemm(args, 1, [](const GemmMap& map, const LaunchArgs& a) {
                return launch_tile<ChunkedChains<32>, 64, 64, 32, 4, 4>("blocked_32", map, a);
              });
            },
    },
    {"gemm", "linear"}};

}  // namespace
}  // namespace ulpscope
