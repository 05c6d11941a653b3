// Operands rounded to TF32 to nearest, ties to even; then fp32 FMA as in gather_c_k.
// Order: one chain, input channels outer, taps inner.
// Promise: TF32 operands (cuBLAS rounds so, and cvt.rn.tf32), products exact, an fp32 accumulator that rounds
// to nearest. Cost: integer operations per staged operand. What remains against tensor cores is their
// accumulator alone.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{{
    .name = "tf32_rne_fma",
    .op = "conv_transpose1d",
    .summary = "operands to TF32 (to nearest, ties to even), fp32 FMA chain",
    .source = "kernels/conv_transpose1d/tf32_rne_fma.cu",
    .where = Where::cuda,
    .modes = {Mode::tf32},
    .plan = [](const Problem&, Mode) { return "tf32_rne | fma | order " + conv_transpose1d_order(); },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          return launch_tile<Tf32FmaChain<Tf32Rounding::rne>, 64, 64, 8, 4, 4>(
              "tf32_rne_fma", conv_transpose1d_map(*args.problem), args);
        },
}};

}  // namespace
}  // namespace ulpscope
