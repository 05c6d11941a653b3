// Float product, double sum: the accumulator that people reach for first when a kernel disagrees.
// Order: input channels outer, taps inner.
// Promise: fp32 products (one rounding each), an all but exact sum, one rounding at the end: error at most
// about u*S + u*|sum|, independent of the number of terms. Cost: a conversion and an fp64 addition a term.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{{
    .name = "float_product_double_sum",
    .op = "conv_transpose1d",
    .summary = "fp32 products, double sum",
    .source = "kernels/conv_transpose1d/float_product_double_sum.cu",
    .where = Where::cuda,
    .plan = [](const Problem&,
               Mode) { return "fp32 | mul_add fp32 fp64 | order " + conv_transpose1d_order(); },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          return launch_tile<FloatProductDoubleSum, 64, 64, 8, 4, 4>(
              "float_product_double_sum", conv_transpose1d_map(*args.problem), args);
        },
}};

}  // namespace
}  // namespace ulpscope
