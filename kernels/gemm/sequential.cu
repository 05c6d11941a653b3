// Sequential: register tile 128x128x8, each thread 8x8 running sums.
// Order: one chain over k, ascending: what a library's FMA kernel without split gives.
// Promise: fp32 FMA, n roundings.
// Cost: 16 loads from shared memory for 64 FMA; tiles of 128 leave small products with idle lanes.
#include "kernels/gemm/gemm_launch.cuh"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "sequential",
        .summary = "one fp32 FMA chain in k order, register tile 128x128x8",
        .source = "kernels/gemm/sequential.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return with_bias_after(p, "fp32 | fma | order k"); },
        .unsupported = gemm_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_gemm(args, 1, [](const GemmMap& map, const LaunchArgs& a) {
                return launch_tile<FmaChain, 128, 128, 8, 8, 8>("sequential", map, a);
              });
            },
    },
    {"gemm", "linear"}};

}  // namespace
}  // namespace ulpscope
