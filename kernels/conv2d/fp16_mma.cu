// FP16 tensor cores by mma.sync m16n8k16. fp32 tensors are rounded to FP16 in the kernel, to nearest even;
// FP16 tensors are taken as they are. Order: chunks of 16 input channels, within a chunk the taps; 16
// channels of one tap are one fused step. Promise: FP16 operands (infinite beyond 65504), fp32 accumulator
// that truncates (Hopper: 25 fractional bits); the output is rounded once more if it is FP16. Cost: half the
// instructions of TF32.
#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/support/mma_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "fp16_mma",
        .summary = "FP16 tensor cores, mma.sync m16n8k16",
        .source = "kernels/conv2d/fp16_mma.cu",
        .where = Where::cuda,
        .modes = {Mode::fp16},
        .plan = [](const Problem& p,
                   Mode) { return "fp16 | block 16 frac 25 rz | order " + conv2d_order(p, 16); },
        .unsupported = [](const Problem& p, DType in, DType out, Mode) -> std::string {
          for (DType t : {in, out})
            if (t != DType::f32 && t != DType::f16) return "this kernel reads and writes fp32 and fp16 only";
          if (in == DType::f32 && out != DType::f32) return "fp32 data give fp32 results here";
          return conv2d_unsupported(p);
        },
        .launch =
            [](const LaunchArgs& args) {
              return launch_mma_16<Fp16Mma, __half, 128, 128, 64, 32>("fp16_mma",
                                                                      conv2d_map(*args.problem, 16), args);
            },
    },
    {"conv1d", "conv2d"}};

}  // namespace
}  // namespace ulpscope
