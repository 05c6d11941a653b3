// Naive: one thread per output, one loop.
// Order: one chain over k, ascending.
// Promise: fp32 FMA, n roundings; the same bits as the register tile.
// Cost: two loads an FMA; neighbouring threads share rows of A in L1.
#include "kernels/gemm/gemm_launch.cuh"
#include "kernels/support/gather.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "naive",
        .summary = "one thread per output, one fp32 FMA chain",
        .source = "kernels/gemm/naive.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return with_bias_after(p, "fp32 | fma | order k"); },
        .unsupported = gemm_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_gemm(args, 1, [](const GemmMap& map, const LaunchArgs& a) {
                return launch_gather<FmaChain>("naive", map, a);
              });
            },
    },
    {"gemm", "linear"}};

}  // namespace
}  // namespace ulpscope
