// Split K: the terms are cut into 8 equal slices (the last one short), each a product of its own into
// scratch, slice sums added in slice order. Order: within a slice one chain over k, ascending; then slice
// after slice: what libraries do with `splitKreduce` kernels. Promise: fp32 FMA; n/8 + 7 roundings on a path.
// Cost: 8 times the output in scratch, written and read once: worth it where outputs are few and terms many.
#include <algorithm>

#include "kernels/gemm/gemm_launch.cuh"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

constexpr int kSlices = 8;

__global__ void __launch_bounds__(256)
    join(const float* __restrict__ part, int slices, float* __restrict__ out, std::int64_t outputs) {
  for (std::int64_t o = cuda::global_thread(); o < outputs; o += cuda::grid_threads()) {
    float sum = part[o];
    for (int s = 1; s < slices; ++s) sum = __fadd_rn(sum, part[s * outputs + o]);
    out[o] = sum;
  }
}

LaunchNotes split(const GemmMap& map, const LaunchArgs& args) {
  auto stream = static_cast<cudaStream_t>(args.stream);
  const std::int64_t outputs = static_cast<std::int64_t>(map.groups) * map.rows * map.positions;
  const int share = static_cast<int>(cuda::ceil_div(map.order.channels, kSlices));
  const int slices = static_cast<int>(cuda::ceil_div(map.order.channels, share));
  const std::size_t bytes =
      static_cast<std::size_t>(outputs) * static_cast<std::size_t>(slices) * sizeof(float);
  const cuda::StreamScratch parts(bytes, stream);
  LaunchNotes notes;
  for (int s = 0; s < slices; ++s) {
    GemmMap slice = map;
    slice.first_k = s * share;
    slice.order.channels = std::min(share, map.order.channels - slice.first_k);
    LaunchArgs to_part = args;
    to_part.out = parts.as<float>() + s * outputs;
    notes = launch_tile<FmaChain, 64, 64, 8, 4, 4>("split_8", slice, to_part);
  }
  cuda::launch("split_8 join", join, cuda::blocks_for(args, outputs, 256), 256, 0, stream, parts.as<float>(),
               slices, static_cast<float*>(args.out), outputs);
  notes.notes.push_back(std::to_string(slices) + " slices of up to " + std::to_string(share) + " terms");
  notes.workspace_bytes = static_cast<std::int64_t>(bytes);
  return notes;
}

const Register variant{
    {
        .name = "split_8",
        .summary = "terms in 8 slices, slice sums added in order",
        .source = "kernels/gemm/split_8.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return with_bias_after(p, "fp32 | fma | order k | split 8"); },
        .unsupported = gemm_takes_fp32,
        .launch = [](const LaunchArgs& args) { return launch_gemm(args, 1, split); },
    },
    {"gemm", "linear"}};

}  // namespace
}  // namespace ulpscope
