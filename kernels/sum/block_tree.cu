// Block tree: what reduction kernels usually do. 64 equal slices, one block each; thread t of 256 adds every
// 256th term of its slice, the threads' sums are joined by halving, the blocks' in order.
// Order: slices; within a slice lanes of stride 256; lanes joined p[i] + p[i + 128], then 64 and so on.
// Promise: fp32 FMA; n/16384 + 8 + 63 roundings on a path.
// Cost: bandwidth.
#include "kernels/sum/reduction.cuh"

namespace ulpscope {
namespace {

constexpr int kSlices = 64, kLanes = 256;

template <class In>
__global__ void __launch_bounds__(kLanes) slices(const Terms<In> terms, std::int64_t length, float* partial) {
  __shared__ float lane[kLanes];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t from = blockIdx.x * length, to = min(from + length, terms.count);
  FmaChain sum;
  for (std::int64_t k = from + thread; k < to; k += kLanes) sum.add(terms.left(k), terms.right(k), 0);
  lane[thread] = sum.result();
  __syncthreads();
  for (int half = kLanes / 2; half > 0; half /= 2) {
    if (thread < half) lane[thread] = __fadd_rn(lane[thread], lane[thread + half]);
    __syncthreads();
  }
  if (thread == 0) partial[blockIdx.x] = lane[0];
}

LaunchNotes block_tree(const LaunchArgs& args) {
  LaunchNotes notes{"block_tree", {}, 0};
  with_terms(args, [&](auto terms, auto* out, float divisor, cudaStream_t stream) {
    using In = std::remove_cv_t<std::remove_pointer_t<decltype(terms.a)>>;
    using Out = std::remove_pointer_t<decltype(out)>;
    const std::int64_t length = cuda::ceil_div(terms.count, kSlices);
    const std::int64_t parts = cuda::ceil_div(terms.count, length);
    const cuda::StreamScratch partial(static_cast<std::size_t>(parts) * sizeof(float), stream);
    const dim3 grid = static_cast<unsigned>(parts);
    cuda::launch("block_tree", slices<In>, grid, kLanes, 0, stream, terms, length, partial.as<float>());
    cuda::launch("block_tree", join_in_order<Out>, 1, 1, 0, stream, partial.as<float>(), parts, divisor, out);
    notes.notes.push_back(cuda::describe_launch(grid, kLanes));
    notes.workspace_bytes = parts * static_cast<std::int64_t>(sizeof(float));
  });
  return notes;
}

const Register variant{reduction_variant("block_tree", "64 blocks of 256 strided lanes, joined by halving",
                                         "fp32 | fma | order k | split 64 | lanes 256 butterfly", block_tree),
                       {"dot", "sum", "mean"}};

}  // namespace
}  // namespace ulpscope
