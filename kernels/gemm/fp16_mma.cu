// FP16 tensor cores by mma.sync m16n8k16. fp32 matrices are rounded to FP16 in the kernel, to nearest even;
// FP16 ones are taken as they are. Order: k ascending, 16 terms a fused step. Promise: FP16 operands, fp32
// accumulator that truncates (Hopper: 25 fractional bits); a FP16 output is rounded once more, and a bias is
// added to it and rounded again. Cost: half the instructions of TF32.
#include "kernels/gemm/gemm_launch.cuh"
#include "kernels/support/mma_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "fp16_mma",
        .summary = "FP16 tensor cores, mma.sync m16n8k16",
        .source = "kernels/gemm/fp16_mma.cu",
        .where = Where::cuda,
        .modes = {Mode::fp16},
        .plan = [](const Problem& p,
                   Mode) { return with_bias_after(p, "fp16 | block 16 frac 25 rz | order k"); },
        .unsupported = [](const Problem& p, DType in, DType out,
                          Mode) { return gemm_takes(DType::f16, p, in, out); },
        .launch =
            [](const LaunchArgs& args) {
              return launch_gemm(args, 16, [](const GemmMap& map, const LaunchArgs& a) {
                return launch_mma_16<Fp16Mma, __half, 128, 128, 64, 32>("fp16_mma", map, a);
              });
            },
    },
    {"gemm", "linear"}};

}  // namespace
}  // namespace ulpscope
