// Three-pass TF32: fp32 accuracy from TF32 tensor cores. Each operand is split in two TF32 numbers; the
// product of the two small parts is dropped. Order: chunks of 8 input channels, within a chunk the taps;
// every step's result is added in fp32, to nearest, small and large products apart, and the small sum joins
// the large one last. Promise: tf32
// (operands are shortened, to two TF32 parts), yet fp32 accuracy: about 2^-21 of each product; operands below
// 2^-100 or so lose their small parts. Cost: three tensor-core steps and twelve additions where TF32 takes
// one step.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/mma_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{{
    .name = "tf32x3_mma",
    .op = "conv_transpose1d",
    .summary = "three-pass TF32 tensor cores that recover fp32 accuracy",
    .source = "kernels/conv_transpose1d/tf32x3_mma.cu",
    .where = Where::cuda,
    .modes = {Mode::tf32},
    .plan =
        [](const Problem&, Mode) {
          return "tf32_rna passes lo*hi hi*lo hi*hi | block 8 frac 25 rz | order " +
                 three_pass_order(conv_transpose1d_order(8)) + " | split 2 of pass | chunks 8";
        },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          return launch_mma<ThreePassTf32Mma, 64, 64, 32, 32>("tf32x3_mma",
                                                              conv_transpose1d_map(*args.problem, 8), args);
        },
}};

}  // namespace
}  // namespace ulpscope
