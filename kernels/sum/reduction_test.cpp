// The reductions' order, walked on the CPU with the kernels' own sums, against the plans their files declare.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/support/pairwise_sum.hpp"
#include "kernels/support/variant_inputs.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

struct Walk {
  const float* a;
  const float* b;  // null: ones
  std::int64_t count;

  template <class Sum>
  float chain(std::int64_t from, std::int64_t to) const {
    Sum sum;
    for (std::int64_t k = from; k < to; ++k) sum.add(a[k], b ? b[k] : 1.0f, static_cast<int>(k - from));
    return sum.result();
  }
  /// Equal runs of `length` places, joined in order: partial_chains and join_in_order.
  template <class Sum>
  float runs(std::int64_t length) const {
    float sum = chain<Sum>(0, std::min(length, count));
    for (std::int64_t from = length; from < count; from += length)
      sum = add_rn(sum, chain<Sum>(from, std::min(from + length, count)));
    return sum;
  }
};

std::int64_t share(std::int64_t count, std::int64_t slices) {
  return (count + slices - 1) / slices;
}

void expect_plan(const char* name, const std::string& text, const Problem& p, const VariantInputs& inputs,
                 float sum) {
  SCOPED_TRACE(std::string(name) + " on " + to_string(p));
  for (const Variant* v : variants_of(p.params.op))
    if (v->name == name && v->where == Where::cuda) {
      ASSERT_EQ(v->plan(p, Mode::fp32), text);
    }
  const Contraction c = lower(p);
  const float result = c.divisor == 1 ? sum : sum / static_cast<float>(c.divisor);
  std::uint32_t predicted = 0;
  replay(*parse_plan(text), c, inputs.operands(), 0, 1, &predicted, 1);
  ASSERT_EQ(bits_of(result), predicted) << result << " for " << float_of(predicted);
}

TEST(Reductions, DeclaredPlansReplay) {
  Random pick{std::mt19937_64(91)};
  for (const char* op : {"dot", "sum", "mean"})
    for (const std::int64_t n :
         {1, 2, 3, 63, 64, 65, 255, 256, 257, 1000, 1024, 1025, 2049, 5000, 16385, 70001})
      for (const Values kind : {Values::uniform, Values::subnormal}) {
        Problem p;
        p.params.op = op;
        p.a = {n};
        if (std::string(op) == "dot") p.b = p.a;
        const VariantInputs inputs = random_inputs(p, DType::f32, kind, pick);
        const Walk w{inputs.a.as<float>(), inputs.b.data ? inputs.b.as<float>() : nullptr, n};
        expect_plan("sequential", "fp32 | fma | order k", p, inputs, w.runs<FmaChain>(n));
        expect_plan("kahan", "fp32 | kahan_fma | order k", p, inputs, w.runs<Kahan>(n));
        expect_plan("blocked_1024", "fp32 | fma | order k | chunks 1024", p, inputs, w.runs<FmaChain>(1024));
        expect_plan("split_64", "fp32 | fma | order k | split 64", p, inputs, w.runs<FmaChain>(share(n, 64)));
        expect_plan("pairwise", "fp32 | fma | order k | pairwise", p, inputs, w.chain<PairwiseSum>(0, n));
        expect_plan("block_tree", "fp32 | fma | order k | split 64 | lanes 256 butterfly", p, inputs,
                    w.runs<LaneTree<256>>(share(n, 64)));
        if (HasFatalFailure()) return;
      }
}

}  // namespace
}  // namespace ulpscope
