// Atomics: 16384 threads add every 16384th term, then their sums to one number by atomicAdd.
// Order: within a thread ascending; threads in whatever order the device gets to them.
// Promise: fp32 FMA, not the same bits twice; the bound of any order of the partial sums holds. PTX lets
// atomic additions to global memory flush subnormal sums to zero. Cost: bandwidth, and an atomic per thread
// on one address.
#include <algorithm>

#include "kernels/sum/reduction.cuh"

namespace ulpscope {
namespace {

constexpr int kThreads = 256, kLanes = 16384;

template <class In>
__global__ void __launch_bounds__(kThreads) add_lanes(const Terms<In> terms, float* total) {
  FmaChain sum;
  const std::int64_t first = cuda::global_thread();
  for (std::int64_t k = first; k < terms.count; k += cuda::grid_threads())
    sum.add(terms.left(k), terms.right(k), 0);
  if (first < terms.count) atomicAdd(total, sum.result());
}

LaunchNotes atomics(const LaunchArgs& args) {
  with_terms(args, [&](auto terms, auto* out, float divisor, cudaStream_t stream) {
    using In = std::remove_cv_t<std::remove_pointer_t<decltype(terms.a)>>;
    using Out = std::remove_pointer_t<decltype(out)>;
    const cuda::StreamScratch total(sizeof(float), stream);
    cuda::check(cudaMemsetAsync(total.data(), 0, sizeof(float), stream), "clearing the total");
    cuda::launch("atomics", add_lanes<In>, kLanes / kThreads, kThreads, 0, stream, terms, total.as<float>());
    cuda::launch("atomics", join_in_order<Out>, 1, 1, 0, stream, total.as<float>(), 1, divisor, out);
  });
  return {"atomics", {cuda::describe_launch(kLanes / kThreads, kThreads)}, sizeof(float)};
}

Variant nondeterministic(Variant v) {
  v.deterministic = false;
  return v;
}

const Register variant{
    nondeterministic(reduction_variant("atomics", "threads' sums joined by atomics: no fixed order",
                                       "fp32 | fma | order k | lanes 16384 unordered", atomics)),
    {"dot", "sum", "mean"}};

}  // namespace
}  // namespace ulpscope
