// TF32 tensor cores by mma.sync m16n8k8; operands rounded to nearest even, as cuBLAS does.
// Order: k ascending, 8 terms a fused step.
// Promise: TF32. On Hopper a step aligns 8 products and the accumulator at 25 fractional bits and truncates.
// Cost: an eighth of the fp32 FMA's instructions; the loads bound it.
#include "kernels/gemm/gemm_launch.cuh"
#include "kernels/support/mma_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "tf32_mma",
        .summary = "TF32 tensor cores, mma.sync m16n8k8, operands rounded RNE",
        .source = "kernels/gemm/tf32_mma.cu",
        .where = Where::cuda,
        .modes = {Mode::tf32},
        .plan = [](const Problem& p,
                   Mode) { return with_bias_after(p, "tf32_rne | block 8 frac 25 rz | order k"); },
        .unsupported = gemm_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_gemm(args, 8, [](const GemmMap& map, const LaunchArgs& a) {
                return launch_mma<Tf32Mma<Tf32Rounding::rne>, 128, 128, 64, 32>("tf32_mma", map, a);
              });
            },
    },
    {"gemm", "linear"}};

}  // namespace
}  // namespace ulpscope
