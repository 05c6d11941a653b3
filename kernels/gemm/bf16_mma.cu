// BF16 tensor cores by mma.sync m16n8k16. fp32 matrices are rounded to BF16 in the kernel, to nearest even;
// BF16 ones are taken as they are. Order: k ascending, 16 terms a fused step. Promise: BF16 operands, fp32
// accumulator that truncates (Hopper: 25 fractional bits); a BF16 output is rounded once more, and a bias is
// added to it and rounded again. Cost: half the instructions of TF32.
#include "kernels/gemm/gemm_launch.cuh"
#include "kernels/support/mma_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "bf16_mma",
        .summary = "BF16 tensor cores, mma.sync m16n8k16",
        .source = "kernels/gemm/bf16_mma.cu",
        .where = Where::cuda,
        .modes = {Mode::bf16},
        .plan = [](const Problem& p,
                   Mode) { return with_bias_after(p, "bf16 | block 16 frac 25 rz | order k"); },
        .unsupported = [](const Problem& p, DType in, DType out,
                          Mode) { return gemm_takes(DType::bf16, p, in, out); },
        .launch =
            [](const LaunchArgs& args) {
              return launch_gemm(args, 16, [](const GemmMap& map, const LaunchArgs& a) {
                return launch_mma_16<Bf16Mma, __nv_bfloat16, 128, 128, 64, 32>("bf16_mma", map, a);
              });
            },
    },
    {"gemm", "linear"}};

}  // namespace
}  // namespace ulpscope
