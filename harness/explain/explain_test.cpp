// The trail of the seed's recorded dumps, from the dumps alone.
#include "harness/explain/explain.hpp"

#include <gtest/gtest.h>

#include "harness/explain/render.hpp"
#include "reference/plan.hpp"
#include "reference/testing/recorded.hpp"

namespace ulpscope {
namespace {

using testing::recorded_tensor;

struct Seed {
  ExplainRequest r;
  Tensor a, b;
  Seed(const std::string& file, const std::string& op, const std::string& input)
      : a(recorded_tensor(file, input)), b(recorded_tensor(file, "w")) {
    r.problem.params.op = op;
    if (op == "conv_transpose1d") r.problem.params.dilation[0] = 3;
    r.problem.a = a.shape;
    r.problem.b = b.shape;
    r.contraction = lower(r.problem);
    if (op == "conv_transpose1d")
      r.contraction = slice(r.contraction, static_cast<int>(r.contraction.out.size()) - 1, 0, 512);
    r.operands = {a.view(), b.view(), {}};
    r.tolerance = {1e-4, 1e-4};
    r.seconds = 5;
    r.threads = 2;
  }
  Tensor made(const std::string& plan, const Contraction& c) const {
    Tensor y = make_tensor(DType::f32, c.out_shape);
    replay(*parse_plan(plan), c, r.operands, 0, c.outputs(), y.as<std::uint32_t>());
    return y;
  }
};

TEST(Explain, ReferenceThatShortenedItsOperandsIsNamedWithBothPlans) {
  Seed s("conv_transpose1d_uniform", "conv_transpose1d", "x_left");
  s.r.candidates = {{"fp32", recorded_tensor("conv_transpose1d_uniform", "y_left_fp32")}};
  s.r.reference = Dump{"tf32", recorded_tensor("conv_transpose1d_uniform", "y_left_tf32")};
  const Explanation e = explain(s.r);
  EXPECT_EQ(e.cause, "reference_precision");
  EXPECT_EQ(e.candidate.plan.value_or(""), "fp32 | fma");
  EXPECT_EQ(e.reference->plan.value_or(""), "tf32_rna | block 8 frac 25 rz | order c/16 kw c");
  EXPECT_EQ(e.candidate.bit_identical, 1);
  EXPECT_EQ(e.reference->operands, "tf32_rna");
  EXPECT_EQ(e.candidate.verdict, Verdict::explained);
  EXPECT_FALSE(e.attainable.fp32);
  EXPECT_TRUE(e.attainable.tf32);
  EXPECT_GT(e.pair->violations, 0);
  EXPECT_LT(e.candidate.error.max_abs, 1e-6);
  const nlohmann::json j = to_json(e);
  EXPECT_EQ(j["schema"], "ulpscope.explain/1");
  for (const char* field :
       {"max_abs", "mean_abs", "mean_signed", "max_ulp", "p50_ulp", "p999_ulp", "max_scaled", "violations",
        "bound", "plan", "operands", "bit_identical", "verdict"}) {
    EXPECT_TRUE(j["candidate"].contains(field)) << field;
    EXPECT_TRUE(j["reference"].contains(field)) << field;
  }
  EXPECT_NE(e.summary.find("set the library to strict fp32"), std::string::npos);
}

TEST(Explain, TieRuleIsToldFromHandMadeRounding) {
  Seed s("conv2d_pointwise_uniform", "conv2d", "x");
  s.r.candidates = {{"rna", s.made("tf32_rna | fma fp64", s.r.contraction)}};
  s.r.reference = Dump{"tf32", recorded_tensor("conv2d_pointwise_uniform", "y_tf32")};
  const Explanation e = explain(s.r);
  EXPECT_EQ(e.cause, "tie_rounding");
  EXPECT_EQ(e.reference->operands, "tf32_rne");
  EXPECT_EQ(e.candidate.operands, "tf32_rna");
  EXPECT_GT(e.pair->max_abs, 5e-5);
  EXPECT_LT(e.pair->max_abs, 6.2e-5);
}

TEST(Explain, DoubleAccumulatorChangesNothingAboutTheCause) {
  Seed s("conv_transpose1d_uniform", "conv_transpose1d", "x_left");
  s.r.candidates = {{"double", s.made("fp32 | fma fp64", s.r.contraction)}};
  s.r.reference = Dump{"tf32", recorded_tensor("conv_transpose1d_uniform", "y_left_tf32")};
  const Explanation e = explain(s.r);
  EXPECT_EQ(e.cause, "reference_precision");
  EXPECT_EQ(e.candidate.plan.value_or(""), "fp32 | fma fp64");
}

TEST(Explain, OrderAloneIsNamedAsSuch) {
  Seed s("conv_transpose1d_uniform", "conv_transpose1d", "x_left");
  s.r.candidates = {{"reordered", s.made("fp32 | fma | order kw c", s.r.contraction)}};
  s.r.reference = Dump{"fp32", recorded_tensor("conv_transpose1d_uniform", "y_left_fp32")};
  EXPECT_EQ(explain(s.r).cause, "accumulation_order");
  s.r.candidates = {{"wide", s.made("fp32 | fma fp64", s.r.contraction)}};
  EXPECT_EQ(explain(s.r).cause, "accumulator");
  s.r.candidates = {*s.r.reference};
  const Explanation same = explain(s.r);
  EXPECT_EQ(same.cause, "none");
  EXPECT_EQ(same.candidate.verdict, Verdict::identical);
}

TEST(Explain, ModeIsAPromise) {
  Seed s("conv_transpose1d_uniform", "conv_transpose1d", "x_left");
  s.r.candidates = {{"tf32", recorded_tensor("conv_transpose1d_uniform", "y_left_tf32")}};
  s.r.mode = Mode::fp32;
  const Explanation e = explain(s.r);
  EXPECT_EQ(e.candidate.verdict, Verdict::violated);
  EXPECT_EQ(e.cause, "candidate_precision");
  s.r.mode = Mode::tf32;
  EXPECT_EQ(explain(s.r).candidate.verdict, Verdict::explained);
}

TEST(Explain, RepeatsThatDifferAreNondeterminism) {
  Seed s("conv_transpose1d_uniform", "conv_transpose1d", "x_left");
  s.r.candidates = {{"one", recorded_tensor("conv_transpose1d_uniform", "y_left_fp32")}};
  s.r.repeats = {{"two", s.made("fp32 | fma | order kw c", s.r.contraction)}};
  const Explanation e = explain(s.r);
  EXPECT_EQ(e.cause, "nondeterminism");
  EXPECT_EQ(e.candidate.verdict, Verdict::nondeterministic);
  EXPECT_FALSE(e.repeats.race);
}

}  // namespace
}  // namespace ulpscope
