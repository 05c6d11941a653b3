#pragma once
// What the reductions share: dot, sum and mean are one output over the terms a[k]*b[k] (b: ones where there
// is no second operand), finished by a division (mean) and one rounding to the output format.
#include "kernels/support/launch.cuh"
#include "kernels/support/numbers.cuh"
#include "kernels/support/registry.hpp"
#include "kernels/support/sums.hpp"

namespace ulpscope {

template <class In>
struct Terms {
  const In* a = nullptr;
  const In* b = nullptr;  // null: ones
  std::int64_t count = 0;

  __device__ float left(std::int64_t k) const { return cuda::to_float(a[k]); }
  __device__ float right(std::int64_t k) const { return b ? cuda::to_float(b[k]) : 1.0f; }
};

/// The last step: divided once where the operator is a mean, then rounded once.
template <class Out>
__device__ void finish(float sum, float divisor, Out* out) {
  *out = cuda::round_to<Out>(divisor == 1.0f ? sum : __fdiv_rn(sum, divisor));
}

inline constexpr int kStageThreads = 256, kStaged = 1024;

/// The running sum `Sum` over places [from, to), in order. A chain cannot be shared out, but its loads can:
/// the block stages them, thread 0 adds. Valid in thread 0; the whole block must call.
template <class Sum, class In>
__device__ float staged_chain(const Terms<In>& terms, std::int64_t from, std::int64_t to) {
  __shared__ float left[kStaged], right[kStaged];
  Sum sum;
  for (std::int64_t base = from; base < to; base += kStaged) {
    const int count = static_cast<int>(min(static_cast<std::int64_t>(kStaged), to - base));
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kStageThreads) {
      left[i] = terms.left(base + i);
      right[i] = terms.right(base + i);
    }
    __syncthreads();
    if (threadIdx.x == 0)
      for (int i = 0; i < count; ++i) sum.add(left[i], right[i], 0);
    __syncthreads();
  }
  return sum.result();
}

/// partial[s] = the sum over the s-th run of `length` places.
template <class Sum, class In>
__global__ void __launch_bounds__(kStageThreads)
    partial_chains(const Terms<In> terms, std::int64_t length, std::int64_t parts, float* partial) {
  for (std::int64_t s = blockIdx.x; s < parts; s += gridDim.x) {
    const std::int64_t from = s * length;
    const float sum = staged_chain<Sum>(terms, from, min(from + length, terms.count));
    if (threadIdx.x == 0) partial[s] = sum;
  }
}

/// ((p0 + p1) + p2) + ...; one thread.
template <class Out>
__global__ void join_in_order(const float* partial, std::int64_t parts, float divisor, Out* out) {
  float sum = partial[0];
  for (std::int64_t s = 1; s < parts; ++s) sum = __fadd_rn(sum, partial[s]);
  finish(sum, divisor, out);
}

/// Calls f(Terms<In>, Out*, divisor, stream) with the types of the launch.
template <class F>
void with_terms(const LaunchArgs& args, F&& f) {
  cuda::dispatch(args.in_dtype, args.out_dtype, [&](auto in, auto out) {
    using In = decltype(in);
    using Out = decltype(out);
    const Contraction& c = *args.contraction;
    const Terms<In> terms{static_cast<const In*>(args.a),
                          static_cast<const In*>(c.b_is_ones ? nullptr : args.b), c.red.at(0).size};
    f(terms, static_cast<Out*>(args.out), static_cast<float>(c.divisor),
      static_cast<cudaStream_t>(args.stream));
  });
}

/// Chains over equal runs of places, joined in order: blocked and split sums differ only in who chooses.
template <class Sum>
LaunchNotes launch_chains(const char* name, const LaunchArgs& args, std::int64_t length) {
  LaunchNotes notes{name, {}, 0};
  with_terms(args, [&](auto terms, auto* out, float divisor, cudaStream_t stream) {
    using Terms_ = decltype(terms);
    using Out = std::remove_pointer_t<decltype(out)>;
    const std::int64_t parts = cuda::ceil_div(terms.count, length);
    const cuda::StreamScratch partial(static_cast<std::size_t>(parts) * sizeof(float), stream);
    const dim3 grid = cuda::blocks_for(args, parts, 1);
    cuda::launch(name, partial_chains<Sum, std::remove_cv_t<std::remove_pointer_t<decltype(Terms_::a)>>>,
                 grid, kStageThreads, 0, stream, terms, length, parts, partial.template as<float>());
    cuda::launch(name, join_in_order<Out>, 1, 1, 0, stream, partial.template as<float>(), parts, divisor,
                 out);
    notes.shape = cuda::describe_launch(grid, kStageThreads);
    notes.notes.push_back(std::to_string(parts) + " chains of up to " + std::to_string(length) + " terms");
    notes.workspace_bytes = static_cast<std::int64_t>(parts * static_cast<std::int64_t>(sizeof(float)));
  });
  return notes;
}

inline std::string reduction_unsupported(const Problem&, DType in, DType out, Mode) {
  return cuda::unsupported_dtypes(in, out);
}

/// One place for what the reductions' registrations have in common.
inline Variant reduction_variant(const char* name, const char* summary, const char* plan,
                                 std::function<LaunchNotes(const LaunchArgs&)> launch) {
  Variant v;
  v.name = name;
  v.summary = summary;
  v.source = std::string("kernels/sum/") + name + ".cu";
  v.where = Where::cuda;
  v.plan = [plan](const Problem&, Mode) { return std::string(plan); };
  v.unsupported = reduction_unsupported;
  v.launch = std::move(launch);
  return v;
}

}  // namespace ulpscope
