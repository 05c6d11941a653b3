// Pairwise: every product rounded, adjacent pairs added, then pairs of pairs; an odd one waits.
// Order: a balanced tree over all terms.
// Promise: fp32; at most 1 + ceil(log2 n) roundings on a path.
// Cost: bandwidth. A block turns 2048 neighbours into one number: since runs of a power of two are whole
// subtrees, and only the last run has an odd one out, blocks may work apart.
#include "kernels/sum/reduction.cuh"

namespace ulpscope {
namespace {

constexpr int kThreads = 1024, kRun = 2 * kThreads;

// In: terms on the first pass, partial sums after it.
struct Products {
  template <class In>
  static __device__ float load(const Terms<In>& t, std::int64_t k) {
    return __fmaf_rn(t.left(k), t.right(k), 0.0f);
  }
};
struct Partials {
  static __device__ float load(const Terms<float>& t, std::int64_t k) { return t.left(k); }
};

template <class Load, class In>
__global__ void __launch_bounds__(kThreads)
    halve(const Terms<In> terms, std::int64_t runs, float* __restrict__ partial) {
  __shared__ float value[kRun];
  const int thread = static_cast<int>(threadIdx.x);
  for (std::int64_t run = blockIdx.x; run < runs; run += gridDim.x) {
    const std::int64_t from = run * kRun;
    int count = static_cast<int>(min(static_cast<std::int64_t>(kRun), terms.count - from));
    for (int i = thread; i < count; i += kThreads) value[i] = Load::load(terms, from + i);
    __syncthreads();
    while (count > 1) {
      const int left = 2 * thread, pairs = (count + 1) / 2;
      float sum = 0;
      if (thread < pairs) sum = left + 1 < count ? __fadd_rn(value[left], value[left + 1]) : value[left];
      __syncthreads();
      if (thread < pairs) value[thread] = sum;
      count = pairs;
      __syncthreads();
    }
    if (thread == 0) partial[run] = value[0];
    __syncthreads();
  }
}

LaunchNotes pairwise(const LaunchArgs& args) {
  LaunchNotes notes{"pairwise", {}, 0};
  with_terms(args, [&](auto terms, auto* out, float divisor, cudaStream_t stream) {
    using In = std::remove_cv_t<std::remove_pointer_t<decltype(terms.a)>>;
    using Out = std::remove_pointer_t<decltype(out)>;
    std::int64_t count = cuda::ceil_div(terms.count, kRun);
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    const cuda::StreamScratch first(bytes, stream), second(bytes, stream);
    float *from = first.as<float>(), *to = second.as<float>();
    const dim3 grid = cuda::blocks_for(args, count, 1);
    notes.shape = cuda::describe_launch(grid, kThreads);
    cuda::launch("pairwise", halve<Products, In>, grid, kThreads, 0, stream, terms, count, from);
    while (count > 1) {
      const Terms<float> partial{from, nullptr, count};
      count = cuda::ceil_div(count, kRun);
      cuda::launch("pairwise", halve<Partials, float>, cuda::blocks_for(args, count, 1), kThreads, 0, stream,
                   partial, count, to);
      std::swap(from, to);
    }
    cuda::launch("pairwise", join_in_order<Out>, 1, 1, 0, stream, from, count, divisor, out);
    notes.workspace_bytes = static_cast<std::int64_t>(2 * bytes);
  });
  return notes;
}

const Register variant{reduction_variant("pairwise", "products rounded, added in pairs",
                                         "fp32 | fma | order k | pairwise", pairwise),
                       {"dot", "sum", "mean"}};

}  // namespace
}  // namespace ulpscope
