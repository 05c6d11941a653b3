// One wrong value, subnormals taken for zero, a last rounding tipped: what `explain` says of a dump and
// `judge` of a capture of the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "harness/explain/question.hpp"
#include "harness/judge_capture.hpp"
#include "reference/arithmetic/operand.hpp"

namespace ulpscope {
namespace {

using testing::Question;

// The same bits as a capture, judged without a search for plans.
Result judged(const std::string& text, const Tensor& y) {
  Capture capture;
  capture.test = parse_case(text);
  capture.variant = "recorded";
  capture.declared_plan = "fp32 | fma";
  capture.input_hash = make_inputs(capture.test).hash;
  Tensor bits = testing::copy_of(y);
  bits.shape = {bits.size()};
  capture.windows = {{0, bits}};
  InputsCache cache;
  return judge_capture(capture, cache, ReplayChoice::all, 1);
}

const std::string kGemm = "gemm 12x20 * 20x9 a=normal(0,1) b=normal(0,1) seed=5";

// No rounding makes a NaN of finite sums, and outputs are poisoned with NaN: one alone is an output that was
// never written. An infinity may be an overflow: out of bounds, and no more.
TEST(Verdicts, OneNanIsStructuralToBoth) {
  Question q(kGemm);
  for (const bool nan : {true, false}) {
    Tensor y = q.made("fp32 | fma");
    y.as<float>()[41] =
        nan ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
    const Explanation e = q.why(y);
    const Result r = judged(kGemm, y);
    EXPECT_EQ(e.cause, "nonfinite");
    EXPECT_EQ(e.candidate.verdict, nan ? Verdict::structural : Verdict::violated) << e.candidate.why;
    EXPECT_EQ(r.judgement.verdict, e.candidate.verdict) << r.judgement.reason;
    EXPECT_NE(r.judgement.reason.find(nan ? "never written" : "infinite"), std::string::npos)
        << r.judgement.reason;
  }
  // Among other errors it proves nothing.
  Tensor y = q.made("fp32 | fma");
  y.as<float>()[41] = std::numeric_limits<float>::quiet_NaN();
  y.as<float>()[7] += 1;
  EXPECT_EQ(judged(kGemm, y).judgement.verdict, Verdict::violated);
}

// Small integers need no rounding: what is off by less than any rounding of other data is still no such sum.
TEST(Verdicts, IntegersThatAreNotExactAreNoMatterOfRounding) {
  const std::string text = "gemm 16x64 * 64x16 a=integers b=integers seed=5";
  Question q(text);
  Tensor y = q.made("fp32 | fma");
  for (std::int64_t i = 0; i < y.size(); ++i)
    y.as<float>()[i] += static_cast<float>((i * 7) % 11 - 5) * 1e-5f;
  const Explanation alone = q.why(testing::copy_of(y));
  EXPECT_EQ(alone.candidate.verdict, Verdict::violated) << alone.candidate.why;
  EXPECT_NE(alone.candidate.why.find("not exact, though every sum"), std::string::npos)
      << alone.candidate.why;
  EXPECT_EQ(alone.cause, "unexplained");
  EXPECT_NE(alone.summary.find("sums of these products are exact"), std::string::npos) << alone.summary;
  EXPECT_EQ(alone.summary.find("small integers"), std::string::npos) << alone.summary;  // they are that
  const Explanation pair = q.why(q.made("fp32 | fma"), testing::copy_of(y));
  EXPECT_NE(pair.summary.find("the reference differs from them"), std::string::npos) << pair.summary;
  EXPECT_EQ(judged(text, y).judgement.verdict, Verdict::violated);
}

Tensor flushed(Tensor y) {
  for (std::int64_t i = 0; i < y.size(); ++i)
    if (std::fabs(y.as<float>()[i]) < 0x1p-126f) y.as<float>()[i] = std::copysign(0.0f, y.as<float>()[i]);
  return y;
}

// Rows of the first operand times 2^-64, columns of the second times 2^-63: some results are subnormal.
struct Tiny {
  Tensor a = testing::floats({4, 6}, {}), b = testing::floats({6, 5}, {});
  Problem problem;
  Tiny() {
    for (std::int64_t i = 0; i < a.size(); ++i)
      a.as<float>()[i] = (1 + 0.37f * static_cast<float>(i * 7 % 11)) * (i / 6 % 2 ? 1 : 0x1p-64f);
    for (std::int64_t i = 0; i < b.size(); ++i)
      b.as<float>()[i] = (0.31f * static_cast<float>(i * 5 % 13) - 1.7f) * (i % 5 % 2 ? 1 : 0x1p-66f);
    problem.params.op = "gemm";
    problem.a = a.shape;
    problem.b = b.shape;
  }
};

TEST(Verdicts, FlushedResultsAreReplayedAndNamed) {
  const Tiny t;
  Question q(t.problem, testing::copy_of(t.a), testing::copy_of(t.b));
  const Tensor kept = q.made("fp32 | fma");
  const Tensor y = flushed(testing::copy_of(kept));
  Explanation e = q.why(y);
  EXPECT_EQ(e.candidate.verdict, Verdict::explained) << e.candidate.why;
  EXPECT_EQ(e.candidate.flushes, "results");
  EXPECT_EQ(e.candidate.plan.value_or(""), "fp32 | fma");
  EXPECT_EQ(e.cause, "accumulator");
  EXPECT_NE(e.cause_why.find("flushes subnormal results to zero"), std::string::npos) << e.cause_why;
  e = q.why(y, kept);
  EXPECT_EQ(e.cause, "accumulator");
  EXPECT_NE(e.cause_why.find("the candidate flushes"), std::string::npos) << e.cause_why;
  EXPECT_EQ(e.reference->flushes, "");
  EXPECT_EQ(q.why(kept).candidate.flushes, "");
  // No plan gives one bit more, but what is beyond the bound still has its name.
  Tensor odd = testing::copy_of(y);
  odd.as<float>()[6] = std::nextafter(std::nextafter(odd.as<float>()[6], 1e9f), 1e9f);
  e = q.why(odd);
  EXPECT_EQ(e.candidate.verdict, Verdict::violated);
  EXPECT_NE(e.candidate.why.find("flushes subnormals to zero"), std::string::npos) << e.candidate.why;
}

TEST(Verdicts, FlushedOperandsAreReplayed) {
  Question q("gemm 6x8 * 8x6 a=normal(0,1) b=normal(0,1) seed=2");
  Tensor a = testing::copy_of(q.inputs.a), zeros = testing::copy_of(q.inputs.a);
  Tensor b = testing::copy_of(q.inputs.b);
  for (const std::int64_t i : {3, 17, 30}) {
    a.as<float>()[i] = std::bit_cast<float>(0x00200000u + static_cast<std::uint32_t>(i));
    zeros.as<float>()[i] = 0;
  }
  for (std::int64_t i = 0; i < b.size(); ++i) b.as<float>()[i] *= 0x1p100f;
  Question subnormal(q.r.problem, std::move(a), testing::copy_of(b));
  Question without(q.r.problem, std::move(zeros), testing::copy_of(b));
  for (Tensor* t : {&subnormal.inputs.a, &without.inputs.a})  // else the subnormals vanish beside the rest
    for (std::int64_t i = 0; i < t->size(); ++i)
      if (std::fabs(t->as<float>()[i]) > 1e-30f) t->as<float>()[i] *= 0x1p-120f;
  const Explanation e = subnormal.why(without.made("fp32 | fma"));
  EXPECT_EQ(e.candidate.verdict, Verdict::explained) << e.candidate.why;
  EXPECT_EQ(e.candidate.flushes, "operands and results");
}

TEST(Verdicts, JudgeNamesFlushedResults) {
  const std::string text = "gemm 6x8 * 8x6 a=subnormal b=ones seed=2";
  const Question q(text);
  const Result r = judged(text, flushed(q.made("fp32 | fma")));
  EXPECT_EQ(r.judgement.verdict, Verdict::violated);
  EXPECT_NE(r.judgement.reason.find("flushes subnormals to zero"), std::string::npos) << r.judgement.reason;
}

// bf16 results of bf16 data, exact but for one output whose last rounding an accumulator tipped. To shorten
// the weights to fp16 as well would tip it, too, because one of them is tiny: luck, no cause.
TEST(Verdicts, ATippedRoundingIsNoShorterOperand) {
  constexpr std::int64_t m = 16, k = 48, n = 16;
  Question q("gemm 16x48 * 48x16 a=normal(0,1) b=normal(0,1) seed=7");
  Tensor a = testing::copy_of(q.inputs.a), b = testing::copy_of(q.inputs.b);
  for (Tensor* t : {&a, &b})
    shorten(OperandFormat::bf16, t->as<float>(), static_cast<std::size_t>(t->size()));
  // Row 3 and columns 5, 6: 1 + 2^-8 is halfway between two bf16 numbers.
  for (std::int64_t i = 0; i < k; ++i)
    a.as<float>()[3 * k + i] = i < 3 ? 1 : i < 40 ? 0 : i < 43 ? 0x1p-25f : 0;
  const auto weight = [&](std::int64_t row, std::int64_t column) -> float& {
    return b.as<float>()[row * n + column];
  };
  for (std::int64_t i = 0; i < k; ++i) weight(i, 5) = weight(i, 6) = 0;
  weight(0, 5) = weight(0, 6) = 1;
  weight(1, 5) = weight(1, 6) = 0x1p-8f;
  weight(2, 5) = 0x1p-26f;                                  // lost beside 1, or in fp16
  for (std::int64_t i = 40; i < 43; ++i) weight(i, 6) = 1;  // kept where the second slice is summed by itself
  ASSERT_EQ(a.size(), m * k);
  Question tie(q.r.problem, std::move(a), std::move(b));
  const Tensor y = tie.made("fp32 | fma | order k | chunks 24 seq | out bf16");
  const Explanation e = tie.why(y);
  EXPECT_EQ(e.cause, "accumulator") << e.cause_why;
  EXPECT_EQ(e.candidate.verdict, Verdict::explained) << e.candidate.why;
  ASSERT_TRUE(e.candidate.plan);
  EXPECT_EQ(e.candidate.plan->find("a fp32 b fp16"), std::string::npos) << *e.candidate.plan;
  EXPECT_EQ(e.candidate.operands, "fp32");
  // Weights shortened in earnest are told from that: x and w in fp32, w rounded to fp16.
  Question plain("gemm 32x48 * 48x32 a=normal(0,1) b=normal(0,1) seed=8");
  const Explanation short_weights = plain.why(plain.made("a fp32 b fp16 | fma fp64 | out bf16"));
  EXPECT_EQ(short_weights.cause, "candidate_precision") << short_weights.cause_why;
}

// A library that saw fp32 inputs and rounded the weights alone.
TEST(Verdicts, WeightsAloneShortened) {
  Question q("linear 24x64 * 20x64 a=normal(0,1) b=normal(0,1) seed=9");
  for (const char* format : {"bf16", "fp16"}) {
    const Explanation e = q.why(q.made(std::string("a fp32 b ") + format + " | fma"), q.made("fp32 | fma"));
    EXPECT_EQ(e.cause, "candidate_precision") << e.cause_why;
    // Of fp16 and TF32, which keep as many bits, this data tells no difference.
    EXPECT_NE(std::find(e.candidate.weight_fit.begin(), e.candidate.weight_fit.end(), format),
              e.candidate.weight_fit.end())
        << e.candidate.operands_weight;
    EXPECT_NE(e.candidate.operands_weight, "fp32");
    EXPECT_EQ(e.candidate.operands_input, "fp32");
  }
}

}  // namespace
}  // namespace ulpscope
