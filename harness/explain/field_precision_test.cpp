// Mismatches that people reported, where the cause is an arithmetic: shorter operands, truncation, a narrow
// accumulator, a tolerance nobody can meet.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/explain/question.hpp"
#include "harness/explain/render.hpp"

namespace ulpscope {
namespace {

using testing::floats;
using testing::Question;

double frobenius(const Tensor& y, const Tensor& truth) {
  double e = 0, s = 0;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const double t = truth.as<float>()[i], d = y.as<float>()[i] - t;
    e += d * d;
    s += t * t;
  }
  return std::sqrt(e / s);
}

// A * A^T on an A100, whatever precision was asked for: 6.175251, 13.585552, 30.876255.
TEST(Field, FlagThatWasIgnoredIsTf32ToTheBit) {
  Problem p;
  p.params.op = "gemm";
  p.params.transpose_b = true;
  p.a = p.b = {2, 2};
  const auto a = [] { return floats({2, 2}, {1.1111111f, 2.2222222f, 3.3333333f, 4.4444444f}); };
  Question q(p, a(), a());
  q.r.mode = Mode::fp32;
  const Explanation e = q.why(floats({2, 2}, {6.175251f, 13.585552f, 13.585552f, 30.876255f}));
  EXPECT_EQ(e.candidate.verdict, Verdict::violated) << e.candidate.why;
  EXPECT_EQ(e.cause, "candidate_precision");
  EXPECT_EQ(e.candidate.operands, "tf32_rne");
  // Neither the tie rule nor fp16's shorter range can be told here; truncation (6.164403) can.
  EXPECT_EQ(e.candidate.operands_fit, (std::vector<std::string>{"tf32_rne", "tf32_rna", "fp16"}));
  EXPECT_EQ(e.candidate.bit_identical, 1);
  // What was asked for.
  const Explanation right = q.why(floats({2, 2}, {6.1728387f, 13.580245f, 13.580245f, 30.864195f}));
  EXPECT_TRUE(passes(right.candidate.verdict)) << right.candidate.why;
  EXPECT_EQ(right.candidate.operands, "fp32");
}

// 512x512 on N(0,1): a relative Frobenius error of 2.9e-4 by default, 4.1e-7 with TF32 off.
TEST(Field, RatioOfAThousandIsAttributed) {
  Question q("gemm 48x512 * 512x48 a=normal(0,1) b=normal(0,1) seed=2");
  const Tensor truth = q.made("fp32 | fma fp64");
  const Tensor fp32 = q.made("fp32 | fma"), tf32 = q.made("tf32_rna | block 8 frac 25 rz");
  EXPECT_NEAR(frobenius(fp32, truth) / 4.1e-7, 1, 0.25);
  EXPECT_NEAR(frobenius(tf32, truth) / 2.9e-4, 1, 0.15);
  const Explanation e = q.why(tf32, fp32);
  EXPECT_EQ(e.cause, "candidate_precision");
  EXPECT_EQ(e.candidate.plan.value_or(""), "tf32_rna | block 8 frac 25 rz");
  EXPECT_EQ(e.reference->plan.value_or(""), "fp32 | fma");
}

// M 64, K 32, N 48 on U[0,1): 8.2e-3 with a mean of -5.3e-3 from one vendor, 1.9e-3 with a mean near 0 from
// another.
TEST(Field, SignedMeanTellsTruncationFromRounding) {
  Question q("gemm 64x32 * 32x48 a=uniform(0,1) b=uniform(0,1) seed=1");
  const Explanation e = q.why(q.made("tf32_rz | fma"), q.made("tf32_rne | fma"));
  EXPECT_EQ(e.cause, "tie_rounding");
  EXPECT_EQ(e.candidate.operands, "tf32_rz");
  EXPECT_EQ(e.reference->operands, "tf32_rne");
  EXPECT_NEAR(e.candidate.error.max_abs / 8.2e-3, 1, 0.15);
  EXPECT_NEAR(e.candidate.error.mean_signed / -5.3e-3, 1, 0.05);
  EXPECT_NEAR(e.reference->error.max_abs / 1.9e-3, 1, 0.2);
  EXPECT_LT(std::abs(e.reference->error.mean_signed), 3e-4);
}

// K 4096 on U[0,1), "expected with TF32": 50.9 at 0.43 % of the elements, forty times over the bound of 1.25.
TEST(Field, TooMuchForTf32IsNeverExcusedAsTf32) {
  Question q("gemm 16x4096 * 4096x16 a=uniform(0,1) b=uniform(0,1) seed=3");
  q.r.mode = Mode::tf32;
  Tensor y = q.made("tf32_rna | block 8 frac 25 rz");
  const Explanation fine = q.why(y);
  EXPECT_TRUE(passes(fine.candidate.verdict));
  EXPECT_LT(fine.candidate.error.max_abs, 0.06);
  EXPECT_NEAR(fine.candidate.error.mean_signed, -0.03, 0.01);
  EXPECT_NEAR(fine.candidate.error.bound, 1.25, 0.15);
  q.r.seconds = 0.1;
  y.as<float>()[101] -= 50.9f;  // 0.39 % of the elements
  const Explanation e = q.why(y);
  EXPECT_TRUE(e.candidate.verdict == Verdict::violated || e.candidate.verdict == Verdict::structural)
      << to_string(e.candidate.verdict);
  EXPECT_GT(50.9, 35 * fine.candidate.error.bound);
  EXPECT_GT(e.candidate.error.headroom, 15) << "the mode's bound is for any order and step";
  EXPECT_EQ(e.candidate.error.max_abs_index, 101);
  EXPECT_NE(e.cause, "candidate_precision");
}

// fp16 accumulation of 2000 times 3, one after another: 7316 in place of 6000.
TEST(Field, HalfPrecisionAccumulatorIsPredictedToTheBit) {
  Problem p;
  p.params.op = "dot";
  p.a = p.b = {2000};
  Tensor a = make_tensor(DType::f32, {2000}), b = make_tensor(DType::f32, {2000});
  std::fill_n(a.as<float>(), 2000, 3.0f);
  std::fill_n(b.as<float>(), 2000, 1.0f);
  Question q(p, std::move(a), std::move(b));
  Tensor y = floats(q.r.contraction.out_shape, {7316});
  const Explanation e = q.why(y);
  EXPECT_EQ(e.candidate.verdict, Verdict::explained) << e.candidate.why;
  EXPECT_NE(e.candidate.plan.value_or("").find("fp16"), std::string::npos) << *e.candidate.plan;
  EXPECT_EQ(e.cause, "accumulator");
  EXPECT_EQ(e.candidate.error.max_abs, 1316);
  // No mode of ours admits such an accumulator for fp32 data.
  q.r.mode = Mode::fp32;
  EXPECT_EQ(q.why(y).candidate.verdict, Verdict::violated);
}

// The mean of linspace(10000, 1.7, 10000): 5000.9077 in fp32, one after another; 5000.85 is true.
TEST(Field, SerialSumOfALongMeanIsPredicted) {
  Problem p;
  p.params.op = "mean";
  p.a = {1, 10000};
  Tensor a = make_tensor(DType::f32, {1, 10000});
  for (int i = 0; i < 10000; ++i) a.as<float>()[i] = static_cast<float>(10000 + i * ((1.7 - 10000) / 9999));
  Question q(p, std::move(a), Tensor{});
  const Explanation e = q.why(floats(q.r.contraction.out_shape, {5000.9077f}));
  EXPECT_EQ(e.candidate.verdict, Verdict::explained) << e.candidate.why;
  EXPECT_NEAR(e.candidate.error.max_abs, 5000.9077 - 5000.85, 2e-3);
  EXPECT_EQ(e.candidate.operands, "fp32");
}

// An exact fp32 convolution against a TF32 reference at 1e-4: 37-41 % of elements fail, whatever K.
TEST(Field, UnattainableToleranceIsCalledSo) {
  for (const char* k : {"64", "1024"}) {
    const std::string text = std::string("conv2d 1x") + k + "x8x8 * 32x" + k + "x1x1 a=normal(0,1) seed=2";
    Question q(text);
    const Explanation e = q.why(q.made("fp32 | fma"), q.made("tf32_rna | block 8 frac 25 rz"));
    EXPECT_EQ(e.cause, "reference_precision");
    const double share = static_cast<double>(e.pair->violations) / static_cast<double>(e.outputs);
    EXPECT_GT(share, 0.35) << k;
    EXPECT_LT(share, 0.43) << k;
    EXPECT_FALSE(e.attainable.fp32);
    EXPECT_TRUE(e.attainable.tf32);
    EXPECT_NE(e.summary.find("a correct fp32 kernel cannot be relied on to meet it"), std::string::npos);
    // The one it names instead works.
    q.r.tolerance.atol = e.attainable.suggested_atol;
    const Explanation now = q.why(q.made("fp32 | fma"), q.made("tf32_rna | block 8 frac 25 rz"));
    EXPECT_TRUE(now.attainable.fp32);
    EXPECT_EQ(now.pair->violations, 0);
  }
}

// A relative error of 959 beside a near-zero output: cancellation, and nothing is wrong.
TEST(Field, RelativeErrorBesideZeroIsCancellation) {
  // 64 products and one more that takes their sum away, up to its rounding to fp32.
  Problem p;
  p.params.op = "gemm";
  p.a = {256, 65};
  p.b = {65, 1};
  const Inputs random = make_inputs(parse_case("gemm 256x65 * 65x1 a=normal(0,1) b=normal(0,1) seed=5"));
  Tensor a = testing::copy_of(random.a), b = testing::copy_of(random.b);
  b.as<float>()[64] = 1;
  for (int i = 0; i < 256; ++i) {
    float* row = a.as<float>() + i * 65;
    double sum = 0;
    for (int k = 0; k < 64; ++k) sum += static_cast<double>(row[k]) * b.as<float>()[k];
    row[64] = static_cast<float>(-sum);
  }
  Question q(p, std::move(a), std::move(b));
  const Tensor y = q.made("fp32 | fma"), truth = q.made("fp32 | fma fp64");
  double relative = 0;
  for (int i = 0; i < 256; ++i)
    relative = std::max(relative, std::abs((y.as<float>()[i] - static_cast<double>(truth.as<float>()[i])) /
                                           truth.as<float>()[i]));
  EXPECT_GT(relative, 959);
  const Explanation e = q.why(y);
  EXPECT_EQ(e.candidate.verdict, Verdict::explained) << e.candidate.why;
  EXPECT_GT(e.candidate.error.worst.condition, 1e6);
  EXPECT_LT(e.candidate.error.max_scaled, 65);
  EXPECT_NE(e.summary.find("condition number"), std::string::npos) << e.summary;
  EXPECT_NE(e.summary.find("are cancellation, not a fault"), std::string::npos);
}

}  // namespace
}  // namespace ulpscope
