// The adapter between probes, which hold dense operands on the host, and executors.
#include <cstring>
#include <memory>

#include "harness/probe/variant_probe.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kMostOutputs = std::int64_t{1} << 17, kMostElements = std::int64_t{1} << 23;

LaunchArgs args_of(const Case& test, const Contraction& c, Mode mode, int threads) {
  LaunchArgs args;
  args.problem = &test.problem;
  args.contraction = &c;
  args.in_dtype = test.in;
  args.out_dtype = test.out;
  args.mode = mode;
  args.threads = threads;
  return args;
}

/// Extents that only say how many outputs there are, and what each must keep.
struct Free {
  std::int64_t* extent;
  std::int64_t least;
};
std::vector<Free> free_extents(Problem& p) {
  const std::string& op = p.params.op;
  std::vector<Free> free;
  if (op == "gemm") {
    const std::size_t batch = p.a.size() - 2;
    if (batch > 0 && p.b.size() > 2) return free;  // both operands would have to change together
    free.push_back({&p.a[batch + (p.params.transpose_a ? 1 : 0)], 64});
    free.push_back({&p.b[p.b.size() - 2 + (p.params.transpose_b ? 0 : 1)], 64});
  } else if (op == "linear") {
    free.push_back({&p.a[0], 64});
    if (!p.params.bias) free.push_back({&p.b[0], 64});
  } else if (op.starts_with("conv") && op.find("backward") == std::string::npos) {
    free.push_back({&p.a[0], 1});
    for (std::size_t x = 2; x < p.a.size(); ++x)
      free.push_back({&p.a[x], 20 + p.params.dilation[x - 2] * (p.b[x] - 1)});
  }
  return free;
}

bool small_enough(const Problem& p) {
  std::int64_t outputs = 1;
  for (const std::int64_t n : output_shape(p)) outputs *= n;
  return outputs <= kMostOutputs && elements(p.a) <= kMostElements && elements(p.b) <= kMostElements;
}

}  // namespace

Case probe_size(Case test) {
  const Problem before = test.problem;
  const std::vector<Free> free = free_extents(test.problem);
  while (!small_enough(test.problem)) {
    const Free* widest = nullptr;
    for (const Free& f : free)
      if (*f.extent / 2 >= f.least && (!widest || *f.extent > *widest->extent)) widest = &f;
    if (!widest) break;
    *widest->extent /= 2;
  }
  if (!(test.problem == before)) test.name = to_string(test);
  return test;
}

ProbeTarget probe_target(Executor& executor, const Variant& variant, const Case& test, const Contraction& c,
                         Mode mode, int threads) {
  ProbeTarget target;
  target.contraction = c;
  target.in = test.in;
  target.out = test.out;
  Tensor bias;
  if (c.has_bias) {
    bias = make_tensor(test.in, {c.bias_size});
    std::memset(bias.data.get(), 0, bias.view().bytes());
  }
  target.run = [&executor, &variant, &test, &c, mode, threads, bias](const Operands& given,
                                                                     std::uint32_t* bits) {
    Operands operands{given.a, c.b_is_ones ? TensorView{} : given.b, bias.data ? bias.view() : TensorView{}};
    executor.run_once(variant, args_of(test, c, mode, threads), operands, bits);
  };
  return target;
}

}  // namespace ulpscope
