// Kahan's compensated sum in fp32; the product enters through an FMA with the compensation.
// Order: k ascending.
// Promise: fp32 operands; error about 2u*|sum| + O(n u^2)*S, whatever the number of terms.
// Cost: four dependent operations a term instead of one.
#include "kernels/gemm/gemm_launch.cuh"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "kahan",
        .summary = "Kahan-compensated fp32 sum",
        .source = "kernels/gemm/kahan.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return with_bias_after(p, "fp32 | kahan_fma | order k"); },
        .unsupported = gemm_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_gemm(args, 1, [](const GemmMap& map, const LaunchArgs& a) {
                return launch_tile<Kahan, 64, 64, 8, 4, 4>("kahan", map, a);
              });
            },
    },
    {"gemm", "linear"}};

}  // namespace
}  // namespace ulpscope
