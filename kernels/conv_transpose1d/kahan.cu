// Kahan's compensated sum in fp32; the product enters through an FMA with the compensation.
// Order: input channels outer, taps inner.
// Promise: fp32 operands; error about 2u*|sum| + O(n u^2)*S, whatever the number of terms.
// Cost: four dependent operations a term, and one thread per output: adding the zeros of a padded tile would
// apply the compensation and change bits.
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/gather.cuh"

namespace ulpscope {
namespace {

const Register variant{{
    .name = "kahan",
    .op = "conv_transpose1d",
    .summary = "Kahan-compensated fp32 sum",
    .source = "kernels/conv_transpose1d/kahan.cu",
    .where = Where::cuda,
    .plan = [](const Problem&, Mode) { return "fp32 | kahan_fma | order " + conv_transpose1d_order(); },
    .unsupported = conv_transpose1d_takes_fp32,
    .launch =
        [](const LaunchArgs& args) {
          return launch_gather<Kahan>("kahan", conv_transpose1d_map(*args.problem), args);
        },
}};

}  // namespace
}  // namespace ulpscope
