#include "harness/vacuity.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/inputs.hpp"
#include "reference/operators.hpp"

namespace ulpscope {
namespace {

Vacuity tried(const std::string& text, double atol, double rtol) {
  const Case test = parse_case(text);
  return try_tolerance(lower(test.problem), model_data(test), {atol, rtol});
}

const PlantedMistake& find(const Vacuity& v, const std::string& name) {
  for (const PlantedMistake& m : v.tried)
    if (m.name == name) return m;
  throw std::runtime_error("no mistake " + name);
}

TEST(Vacuity, ReportedToleranceSeesEveryPlantedMistake) {
  const Vacuity v = tried("conv2d 1x16x12x12 * 8x16x3x3 p1 bias a=uniform(0,1) seed=1", 1e-4, 1e-4);
  EXPECT_FALSE(v.vacuous) << v.why;
  for (const char* name : {"zeros", "lost_term", "wrong_tap", "lost_tail", "missing_bias"})
    EXPECT_TRUE(find(v, name).detected) << name;
  EXPECT_EQ(find(v, "lost_term").tried, find(v, "lost_term").seen);
  EXPECT_GT(find(v, "lost_term_once").share, 0.8);
}

// True outputs all below the tolerance: a kernel that writes nothing passes.
TEST(Vacuity, AcceptsZeros) {
  const std::string tiny = "gemm 16x32 * 32x16 a=uniform(-1e-5,1e-5) b=uniform(-1,1) seed=2";
  for (const double atol : {1e-2, 1e-4}) {
    const Vacuity v = tried(tiny, atol, 0);
    EXPECT_TRUE(v.vacuous);
    EXPECT_FALSE(find(v, "zeros").detected);
    EXPECT_NE(v.why.find("zeros"), std::string::npos) << v.why;
  }
  EXPECT_FALSE(tried(tiny, 1e-8, 1e-6).vacuous);
}

// A relative tolerance below 1 alone never accepts zeros (unless the truth is zero).
TEST(Vacuity, RelativeToleranceSeesZeros) {
  EXPECT_TRUE(find(tried("gemm 4x8 * 8x4 a=uniform(1,2) b=uniform(1,2)", 0, 0.9), "zeros").detected);
}

TEST(Vacuity, CannotSeeALostTerm) {
  // 4096 terms of about 0.25 sum to 1000; 1 % of that hides any one of them.
  const Vacuity v = tried("gemm 8x4096 * 4096x8 a=uniform(0,1) b=uniform(0,1) seed=3", 0, 1e-2);
  EXPECT_TRUE(v.vacuous);
  EXPECT_TRUE(find(v, "zeros").detected);
  EXPECT_NE(v.why.find("lost term"), std::string::npos) << v.why;
  EXPECT_FALSE(tried("gemm 8x4096 * 4096x8 a=uniform(0,1) b=uniform(0,1) seed=3", 1e-3, 1e-5).vacuous);
}

// One channel of the weights is zero: losing it changes nothing, and only that place is unseen.
TEST(Vacuity, OneInvisibleTermDoesNotMakeItVacuous) {
  std::vector<float> a(8 * 4), b(4 * 8);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1.0f + static_cast<float>(i % 7) / 8;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = i / 8 == 2 ? 0.0f : 1.0f;
  OperatorParams p;
  p.op = "gemm";
  const Contraction c = lower({p, {8, 4}, {4, 8}});
  const Vacuity v = try_tolerance(
      c, model_data(Operands{{a.data(), DType::f32, {8, 4}}, {b.data(), DType::f32, {4, 8}}, {}}),
      {1e-5, 1e-5});
  EXPECT_FALSE(v.vacuous);
  EXPECT_EQ(find(v, "lost_term").tried, 4);
  EXPECT_EQ(find(v, "lost_term").seen, 3);
  EXPECT_NE(v.why.find("lost_term"), std::string::npos);
}

TEST(Vacuity, EffectsAreTheMistakes) {
  // Outputs 2*3 + 5*7: lost terms 6 and 35; the neighbour's input gives (5-2)*3 = 9 and (2-5)*7 = -21.
  const float a[] = {2, 5}, b[] = {3, 7};
  OperatorParams p;
  p.op = "gemm";
  const Contraction c = lower({p, {1, 2}, {2, 1}});
  const Vacuity v =
      try_tolerance(c, model_data(Operands{{a, DType::f32, {1, 2}}, {b, DType::f32, {2, 1}}, {}}), {1, 0});
  EXPECT_EQ(find(v, "zeros").max_abs, 41);
  EXPECT_EQ(find(v, "lost_term").max_abs, 6);
  EXPECT_EQ(find(v, "wrong_tap").max_abs, 9);
  EXPECT_EQ(find(v, "lost_tail").max_abs, 35);
  EXPECT_EQ(find(v, "bf16_operands").max_abs, 0);
}

TEST(Vacuity, PrecisionLossesAreTriedForComparison) {
  const Vacuity v = tried("gemm 32x64 * 64x32 a=normal(0,1) b=normal(0,1) seed=4", 1e-5, 1e-5);
  EXPECT_TRUE(find(v, "truncated_operands").detected);
  EXPECT_FALSE(find(v, "truncated_operands").mistake);
  EXPECT_FALSE(
      find(tried("gemm 32x64 * 64x32 a=normal(0,1) b=normal(0,1) seed=4", 1, 1), "bf16_operands").detected);
}

}  // namespace
}  // namespace ulpscope
