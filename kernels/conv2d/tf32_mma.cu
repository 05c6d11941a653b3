// TF32 tensor cores by mma.sync m16n8k8; operands rounded to nearest, ties away, as cuDNN's cutlass kernels
// do. Order: chunks of 8 input channels, within a chunk the taps; 8 channels of one tap are one fused step.
// Promise: TF32. On Hopper a step aligns 8 products and the accumulator at 25 fractional bits and truncates.
// Cost: an eighth of the fp32 FMA's instructions; the loads bound it.
#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/support/mma_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "tf32_mma",
        .summary = "TF32 tensor cores, mma.sync m16n8k8, operands rounded RNA",
        .source = "kernels/conv2d/tf32_mma.cu",
        .where = Where::cuda,
        .modes = {Mode::tf32},
        .plan = [](const Problem& p,
                   Mode) { return "tf32_rna | block 8 frac 25 rz | order " + conv2d_order(p, 8); },
        .unsupported = conv2d_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_mma<Tf32Mma<Tf32Rounding::rna>, 128, 128, 64, 32>(
                  "tf32_mma", conv2d_map(*args.problem, 8), args);
            },
    },
    {"conv1d", "conv2d"}};

}  // namespace
}  // namespace ulpscope
