// Kahan's compensated sum in fp32; the product enters through an FMA with the compensation.
// Order: channels, then taps.
// Promise: fp32 operands; error about 2u*|sum| + O(n u^2)*S, whatever the number of terms.
// Cost: four dependent operations a term instead of one. With padding it gathers, one thread per output:
// adding the zeros of a padded tile would apply the compensation and change bits.
#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "kahan",
        .summary = "Kahan-compensated fp32 sum",
        .source = "kernels/conv2d/kahan.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return "fp32 | kahan_fma | order " + conv2d_order(p); },
        .unsupported = conv2d_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_tile<Kahan, 64, 64, 8, 4, 4>("kahan", conv2d_map(*args.problem), args);
            },
    },
    {"conv1d", "conv2d"}};

}  // namespace
}  // namespace ulpscope
