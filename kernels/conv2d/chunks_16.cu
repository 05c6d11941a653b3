// K in chunks of 16: a fresh chain for every 16 terms, chunk sums added in order.
// Order: channels, then taps, cut into chunks of 16.
// Promise: fp32 FMA; roundings on a path 16 + n/16, the cheapest way to a bound that grows like sqrt(n).
// Cost: one more addition per 16 terms and twice the accumulators.
#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "chunks_16",
        .summary = "fp32 FMA chains of 16 terms, added in order",
        .source = "kernels/conv2d/chunks_16.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p,
                   Mode) { return "fp32 | fma | order " + conv2d_order(p) + " | chunks 16"; },
        .unsupported = conv2d_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_tile<ChunkedChains<16>, 64, 64, 16, 4, 4>("chunks_16", conv2d_map(*args.problem),
                                                                      args);
            },
    },
    {"conv1d", "conv2d"}};

}  // namespace
}  // namespace ulpscope
