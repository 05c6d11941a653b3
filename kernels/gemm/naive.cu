// Naive: one thread per output, one loop. The file to copy for a kernel with a loop of its own.
// Order: one chain over k, ascending.
// Promise: fp32 FMA, n roundings; the same bits as the register tile.
// Cost: two loads an FMA; neighbouring threads share rows of A in L1.
#include "kernels/gemm/gemm_launch.cuh"
#include "kernels/support/gather.hpp"
#include "kernels/support/launch.cuh"

namespace ulpscope {
namespace {

// In the map's words `x` is B and `w` is A. Strides are the map's: operands may be stored transposed.
__global__ void __launch_bounds__(256)
    naive(const GemmMap map, const float* __restrict__ x, const float* __restrict__ w,
          float* __restrict__ out, std::int64_t outputs) {
  for (std::int64_t o = cuda::global_thread(); o < outputs; o += cuda::grid_threads()) {
    const OutputPlace at = place_of(map, o);
    const float* row = w + at.group * map.a_batch + at.row * map.a_row;
    const float* column = x + at.group * map.b_batch + at.position * map.b_column;
    float sum = 0;
    for (std::int64_t k = 0; k < map.order.channels; ++k)
      sum = __fmaf_rn(column[k * map.b_k], row[k * map.a_k], sum);
    out[o] = sum;
  }
}

// From launch_gemm, which has swapped the operands (args.a is B) and adds the bias afterwards.
LaunchNotes launch_naive(const GemmMap& map, const LaunchArgs& args) {
  const std::int64_t outputs = map.images * map.groups * map.rows * map.positions;
  if (outputs == 0) return {"nothing to do", {}, 0};
  const int threads = cuda::threads_for(args, 256);
  const dim3 grid = cuda::blocks_for(args, outputs, threads);
  cuda::launch("naive", naive, grid, threads, 0, static_cast<cudaStream_t>(args.stream), map,
               static_cast<const float*>(args.a), static_cast<const float*>(args.b),
               static_cast<float*>(args.out), outputs);
  return cuda::shaped_notes("naive", grid, threads);
}

const Register variant{
    {
        .name = "naive",
        .summary = "one thread per output, one fp32 FMA chain",
        .source = "kernels/gemm/naive.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return with_bias_after(p, "fp32 | fma | order k"); },
        .unsupported = gemm_takes_fp32,
        .launch = [](const LaunchArgs& args) { return launch_gemm(args, 1, launch_naive); },
    },
    {"gemm", "linear"}};

}  // namespace
}  // namespace ulpscope
