// Operands rounded to TF32 to nearest, ties away from zero; then fp32 FMA as in gather_c_k.
// Order: one chain, input channels outer, taps inner.
// Promise: TF32 operands (cuDNN's cutlass kernels round so, and cvt.rna.tf32), products exact, an fp32
// accumulator that rounds to nearest. Cost: integer operations per staged operand. What remains against
// tensor cores is their accumulator alone.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{{
    .name = "tf32_rna_fma",
    .op = "conv_transpose1d",
    .summary = "operands to TF32 (to nearest, ties away from zero), fp32 FMA chain",
    .source = "kernels/conv_transpose1d/tf32_rna_fma.cu",
    .where = Where::cuda,
    .modes = {Mode::tf32},
    .plan = [](const Problem&, Mode) { return "tf32_rna | fma | order " + conv_transpose1d_order(); },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          return launch_tile<Tf32FmaChain<Tf32Rounding::rna>, 64, 64, 8, 4, 4>(
              "tf32_rna_fma", conv_transpose1d_map(*args.problem), args);
        },
}};

}  // namespace
}  // namespace ulpscope
