// BF16 tensor cores by mma.sync m16n8k16. fp32 tensors are rounded to BF16 in the kernel, to nearest even;
// BF16 tensors are taken as they are. Order: chunks of 16 input channels, within a chunk the taps; 16
// channels of one tap are one fused step. Promise: BF16 operands, fp32 accumulator that truncates (Hopper: 25
// fractional bits); the output is rounded once more if it is BF16. Cost: half the instructions of TF32.
#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/support/mma_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "bf16_mma",
        .summary = "BF16 tensor cores, mma.sync m16n8k16",
        .source = "kernels/conv2d/bf16_mma.cu",
        .where = Where::cuda,
        .modes = {Mode::bf16},
        .plan = [](const Problem& p,
                   Mode) { return "bf16 | block 16 frac 25 rz | order " + conv2d_order(p, 16); },
        .unsupported = [](const Problem& p, DType in, DType out, Mode) -> std::string {
          for (DType t : {in, out})
            if (t != DType::f32 && t != DType::bf16) return "this kernel reads and writes fp32 and bf16 only";
          if (in == DType::f32 && out != DType::f32) return "fp32 data give fp32 results here";
          return conv2d_unsupported(p);
        },
        .launch =
            [](const LaunchArgs& args) {
              return launch_mma_16<Bf16Mma, __nv_bfloat16, 128, 128, 64, 32>(
                  "bf16_mma", conv2d_map(*args.problem, 16), args);
            },
    },
    {"conv1d", "conv2d"}};

}  // namespace
}  // namespace ulpscope
