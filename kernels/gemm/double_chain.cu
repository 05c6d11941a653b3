// Double throughout: products of two floats are exact in fp64, sums are rounded to fp64, the result once to
// fp32.
// Order: one chain over k, ascending.
// Promise: correctly rounded but for results within n*2^-53*S of the middle between two floats.
// Cost: fp64 FMA, half the rate of fp32 on a data-centre chip and a 64th on others.
#include "kernels/gemm/gemm_launch.cuh"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

const Register variant{
    {
        .name = "double_chain",
        .summary = "fp64 throughout, rounded once",
        .source = "kernels/gemm/double_chain.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return with_bias_after(p, "fp32 | fma fp64 | order k"); },
        .unsupported = gemm_takes_fp32,
        .launch =
            [](const LaunchArgs& args) {
              return launch_gemm(args, 1, [](const GemmMap& map, const LaunchArgs& a) {
                return launch_tile<DoubleChain, 64, 64, 8, 4, 4>("double_chain", map, a);
              });
            },
    },
    {"gemm", "linear"}};

}  // namespace
}  // namespace ulpscope
