// The trail of the seed's recorded dumps, from the dumps alone.
#include "harness/explain/explain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "harness/explain/question.hpp"
#include "harness/explain/render.hpp"
#include "harness/io/read_tensor.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

Tensor recorded_tensor(const std::string& file, const std::string& name) {
  return read_tensor(std::string(ULPSCOPE_SOURCE_DIR) + "/reports/recorded/pytorch-2.11-h200/" + file +
                     ".npz:" + name);
}

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
  // The first `columns` of every row: enough outputs where a mistake shows anywhere.
  void cut(std::int64_t columns) {
    r.contraction = slice(r.contraction, static_cast<int>(r.contraction.out.size()) - 1, 0, columns);
  }
  Tensor recorded(const std::string& file, const std::string& name) const {
    const Tensor whole = recorded_tensor(file, name);
    Tensor part = make_tensor(DType::f32, r.contraction.out_shape);
    const std::int64_t from = whole.shape.back(), to = part.shape.back();
    for (std::int64_t i = 0; i < part.size(); ++i)
      part.as<float>()[i] = whole.as<float>()[i / to * from + i % to];
    return part;
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

TEST(Explain, TruncatedOperandsAreToldFromRoundedOnes) {
  Seed s("conv_transpose1d_uniform", "conv_transpose1d", "x_left");
  s.cut(128);
  s.r.candidates = {{"rz", s.made("tf32_rz | fma", s.r.contraction)}};
  s.r.reference = Dump{"tf32", s.recorded("conv_transpose1d_uniform", "y_left_tf32")};
  const Explanation e = explain(s.r);
  EXPECT_EQ(e.cause, "tie_rounding");
  EXPECT_EQ(e.candidate.operands, "tf32_rz");
  EXPECT_EQ(e.candidate.plan.value_or(""), "tf32_rz | fma");
  EXPECT_EQ(e.reference->bit_identical, 1);
}

TEST(Explain, ShorterOperandsOfTheCandidateAreItsOwn) {
  Seed s("conv_transpose1d_uniform", "conv_transpose1d", "x_left");
  s.cut(128);
  s.r.candidates = {{"bf16", s.made("bf16 | block 16 frac 25 rz", s.r.contraction)}};
  s.r.reference = Dump{"tf32", s.recorded("conv_transpose1d_uniform", "y_left_tf32")};
  const Explanation e = explain(s.r);
  EXPECT_EQ(e.cause, "candidate_precision");
  EXPECT_EQ(e.candidate.operands, "bf16");
  EXPECT_EQ(e.candidate.bit_identical, 1);
  EXPECT_EQ(e.candidate.verdict, Verdict::explained);
  EXPECT_EQ(e.reference->operands, "tf32_rna");
}

// Mistakes against the library's recorded TF32: the reference's own rounding must not hide them.
class Trail : public ::testing::Test {
 protected:
  Trail() : s("conv_transpose1d_uniform", "conv_transpose1d", "x_left") {
    s.cut(256);
    s.r.reference = Dump{"tf32", s.recorded("conv_transpose1d_uniform", "y_left_tf32")};
    s.r.seconds = 0.5;
  }
  Tensor with_weight(const std::function<void(float*, std::int64_t)>& change) {
    Tensor w = make_tensor(DType::f32, s.b.shape);
    std::copy_n(s.b.as<float>(), s.b.size(), w.as<float>());
    change(w.as<float>(), w.size());
    Tensor y = make_tensor(DType::f32, s.r.contraction.out_shape);
    replay(*parse_plan("fp32 | fma"), s.r.contraction, {s.a.view(), w.view(), {}}, 0, y.size(),
           y.as<std::uint32_t>());
    return y;
  }
  Explanation of(Tensor y) {
    s.r.candidates = {{"mine", std::move(y)}};
    Explanation e = explain(s.r);
    EXPECT_FALSE(passes(e.candidate.verdict)) << e.candidate.why;
    EXPECT_FALSE(e.candidate.plan) << *e.candidate.plan;
    EXPECT_EQ(e.reference->plan.value_or(""), "tf32_rna | block 8 frac 25 rz | order c/16 kw c");
    EXPECT_EQ(e.reference->bit_identical, 1);
    return e;
  }
  std::string named(const Explanation& e) { return e.candidate.mistake ? e.candidate.mistake->name : "none"; }
  Seed s;
};

TEST_F(Trail, FlippedTaps) {
  const Explanation e = of(with_weight([](float* w, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += 5) std::reverse(w + i, w + i + 5);
  }));
  EXPECT_EQ(e.cause, "structural");
  EXPECT_EQ(named(e), "flipped_taps");
}

TEST_F(Trail, WeightsInTheOtherLayout) {
  const Explanation e = of(with_weight([](float* w, std::int64_t n) {
    const std::vector<float> old(w, w + n);  // [64, 32, 5] in memory where [32, 64, 5] belongs
    for (std::int64_t c = 0; c < 32; ++c)
      for (std::int64_t m = 0; m < 64; ++m)
        for (std::int64_t k = 0; k < 5; ++k)
          w[(c * 64 + m) * 5 + k] = old[static_cast<std::size_t>((m * 32 + c) * 5 + k)];
  }));
  EXPECT_EQ(e.cause, "structural");
  EXPECT_EQ(named(e), "weight_layout");
}

TEST_F(Trail, OtherWeightsAreOtherInputs) {
  const Explanation e = of(with_weight([](float* w, std::int64_t n) {
    std::mt19937 rng(3);
    for (std::int64_t i = 0; i < n; ++i) w[i] = static_cast<float>(rng()) * 0x1p-32f;
  }));
  EXPECT_EQ(e.cause, "inputs_differ");
  EXPECT_EQ(named(e), "other_weights");
}

TEST_F(Trail, HalfOfTheWeightsNeverLoaded) {
  const Explanation e = of(with_weight([](float* w, std::int64_t n) {
    std::mt19937 rng(4);
    for (std::int64_t i = n / 2; i < n; ++i) w[i] = 8 * static_cast<float>(rng()) * 0x1p-32f - 4;
  }));
  EXPECT_EQ(e.cause, "structural");
  EXPECT_EQ(named(e), "corrupt_weights");
}

TEST_F(Trail, TailOfOneTileUnwritten) {
  Tensor y = s.recorded("conv_transpose1d_uniform", "y_left_fp32");
  for (std::int64_t i = 0; i < y.size(); ++i)
    if (i % 256 >= 246) y.as<float>()[i] = 0;
  const Explanation e = of(std::move(y));
  EXPECT_EQ(e.cause, "structural");
  EXPECT_EQ(named(e), "unwritten");
  ASSERT_TRUE(e.candidate.mistake);
  EXPECT_EQ(e.candidate.mistake->region.from, 246);
  EXPECT_EQ(e.candidate.mistake->region.outputs, 64 * 10);
}

TEST_F(Trail, IndexOverflowWritesNothing) {
  Tensor y = make_tensor(DType::f32, s.r.contraction.out_shape);
  std::fill_n(y.as<float>(), y.size(), 0.0f);
  const Explanation e = of(std::move(y));
  EXPECT_EQ(e.cause, "structural");
  EXPECT_EQ(named(e), "unwritten");
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

// Additions in a random binary tree: no search finds it, so that order is the cause remains unproved.
TEST(Explain, OrderNobodyCanFindIsNotClaimed) {
  testing::Question q("gemm 24x40 * 40x24 a=normal(0,1) b=normal(0,1) seed=6");
  std::mt19937 rng(17);
  std::vector<std::string> parts;
  for (int i = 0; i < 40; ++i) parts.push_back(std::to_string(i));
  while (parts.size() > 1) {
    std::shuffle(parts.begin(), parts.end(), rng);
    parts[parts.size() - 2] = "(" + parts[parts.size() - 2] + " " + parts.back() + ")";
    parts.pop_back();
  }
  const Tensor unknown = q.made("fp32 | fma | order tree " + parts[0]), chain = q.made("fp32 | fma");
  q.r.seconds = 0.5;
  Explanation e = q.why(unknown, chain);
  EXPECT_FALSE(e.candidate.plan) << *e.candidate.plan;
  EXPECT_EQ(e.reference->plan.value_or(""), "fp32 | fma");
  EXPECT_EQ(e.candidate.verdict, Verdict::bounded);
  EXPECT_EQ(e.cause, "unexplained");
  EXPECT_NE(e.cause_why.find("the candidate"), std::string::npos) << e.cause_why;
  EXPECT_EQ(e.summary.find("accumulation_order"), std::string::npos) << e.summary;
  e = q.why(chain, unknown);
  EXPECT_EQ(e.cause, "unexplained");
  EXPECT_NE(e.cause_why.find("the reference"), std::string::npos) << e.cause_why;
  q.r.reference.reset();
  EXPECT_EQ(q.why(unknown).cause, "unexplained");
  EXPECT_EQ(q.why(chain).cause, "accumulator");
}

// Two short parts of each operand: bf16 so used is short of fp32, and no worse than it says; TF32 is not
// short.
TEST(Explain, OperandsInSeveralPartsAreNamed) {
  testing::Question q("gemm 24x40 * 40x24 a=normal(0,1) b=normal(0,1) seed=6");
  q.r.seconds = 0.5;
  const std::string three = " passes lo*hi hi*lo hi*hi";
  Explanation e = q.why(q.made("bf16" + three + " | kahan"));
  EXPECT_EQ(e.candidate.plan.value_or(""), "bf16" + three + " | kahan");
  EXPECT_EQ(e.candidate.verdict, Verdict::explained);
  EXPECT_EQ(e.candidate.operands, "unknown") << "no one format";
  EXPECT_EQ(e.cause, "candidate_precision");
  e = q.why(q.made("bf16" + three + " | kahan | order shuffle 9"));
  EXPECT_FALSE(e.candidate.plan);
  EXPECT_EQ(e.candidate.verdict, Verdict::bounded) << e.candidate.why;
  EXPECT_NE(e.candidate.why.find("bf16" + three), std::string::npos) << e.candidate.why;
  EXPECT_EQ(e.cause, "candidate_precision");
  e = q.why(q.made("tf32_rna" + three + " | fma"));
  EXPECT_EQ(e.candidate.verdict, Verdict::explained);
  EXPECT_EQ(e.candidate.operands, "fp32");
  EXPECT_EQ(e.cause, "accumulator");
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
