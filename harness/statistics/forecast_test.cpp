#include "harness/statistics/forecast.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/inputs.hpp"
#include "harness/io/read_tensor.hpp"
#include "reference/error.hpp"
#include "reference/operators.hpp"

namespace ulpscope {
namespace {

ForecastOptions with(double atol, double rtol) {
  ForecastOptions o;
  o.tolerance = {atol, rtol};
  o.max_terms = 1 << 19;
  return o;
}

const Judged& against(const Forecast& f, const std::string& name) {
  for (const Judged& j : f.judged)
    if (j.against == name) return j;
  throw Error("not judged against " + name);
}

TEST(Forecast, SeedToleranceIsUnattainableAgainstTf32Only) {
  const Case test = parse_case("conv2d 1x64x16x32 * 128x64x1x1 a=uniform(0,1) seed=1");
  const ForecastReport r =
      forecast(test, usual_plans(DType::f32), {usual_plan("tf32", DType::f32)}, with(1e-4, 1e-4));
  const Forecast& fp32 = r.plans[0];
  EXPECT_EQ(fp32.name, "fp32");
  EXPECT_LT(against(fp32, "exact").p_fail, 1e-9);
  EXPECT_EQ(against(fp32, "tf32").p_fail, 1);
  EXPECT_NEAR(against(fp32, "tf32").share, 0.158, 0.04);  // 15.8 % of the recorded outputs
  // The tolerance it names works, and lies near the largest difference ever measured there (5.5e-4 of 2^29).
  EXPECT_GT(against(fp32, "tf32").atol, 2.5e-4);
  EXPECT_LT(against(fp32, "tf32").atol, 7e-4);
  const Forecast& tf32 = r.plans[1];
  EXPECT_LT(against(tf32, "tf32").p_fail, 1e-9);  // its likes round the same operands alike
  for (const Forecast& f : r.plans) {
    EXPECT_GT(f.bound, f.judged[0].expected_max) << f.name;
    EXPECT_GT(f.judged[0].expected_max, f.judged[0].expected_mean) << f.name;
  }
}

// 2^31 outputs without their 4 GiB of input: the expected maximum measured on 2^29 of them is 5.5e-4, the
// mean 6.9e-5.
TEST(Forecast, FullSeedFromItsDistributions) {
  Case test = parse_case("conv2d 16x64x1024x1024 * 128x64x1x1 a=uniform(0,1)");
  ForecastOptions options = with(1e-4, 1e-4);
  const ForecastReport r = forecast(test, {usual_plan("tf32", DType::f32)}, {}, options);
  EXPECT_EQ(r.outputs, std::int64_t{1} << 31);
  EXPECT_NEAR(r.plans[0].judged[0].expected_max / 5.5e-4, 1, 0.15);
  EXPECT_NEAR(r.plans[0].judged[0].expected_mean / 6.9e-5, 1, 0.15);
}

// M 10, K 8, N 25 under an absolute 0.005: about 4 % of seeds. From fresh data, not from this seed's.
TEST(Forecast, SmallCasesAverageOverSeeds) {
  const Case test = parse_case("gemm 10x8 * 8x25 a=normal(0,1) b=normal(0,1) seed=7");
  ForecastOptions options = with(0.005, 0);
  options.seeds = 600;
  const Forecast f = forecast(test, {usual_plan("tf32", DType::f32)}, {}, options).plans[0];
  ASSERT_TRUE(f.p_fail_over_seeds);
  EXPECT_NEAR(*f.p_fail_over_seeds, 0.04, 0.014);
}

TEST(Forecast, AttainabilityFollowsTheReference) {
  const Case test = parse_case("conv_transpose1d 1x32x200 * 32x64x5 d3 a=uniform(0,1) seed=1");
  const Contraction c = lower(test.problem);
  const ModelData data = model_data(test);
  ModelOptions few;
  few.max_terms = 1 << 19;
  const Plan tf32 = *parse_plan("tf32_rna | block 8 frac 25 rz | order c/16 kw c"),
             fp32 = *parse_plan("fp32 | fma");
  const Attainability against_tf32 = attainability(c, data, &tf32, DType::f32, {1e-4, 1e-4}, few);
  EXPECT_FALSE(against_tf32.fp32);
  EXPECT_TRUE(against_tf32.tf32);
  EXPECT_GT(against_tf32.suggested_atol, 1.5e-4);
  EXPECT_LT(against_tf32.suggested_atol, 5e-4);
  EXPECT_TRUE(attainability(c, data, &tf32, DType::f32, {against_tf32.suggested_atol, 1e-4}, few).fp32);
  for (const Plan* reference : {&fp32, static_cast<const Plan*>(nullptr)}) {
    const Attainability a = attainability(c, data, reference, DType::f32, {1e-4, 1e-4}, few);
    EXPECT_TRUE(a.fp32);
    EXPECT_FALSE(a.tf32);
    EXPECT_LT(a.suggested_atol, 5e-6);
  }
}

// An exact fp32 convolution against a TF32 reference at 1e-4, N(0,1) inputs, weights +-1/sqrt(K): 37-41 % of
// elements.
TEST(Forecast, ShareAgainstTf32ReferenceAsReported) {
  for (const int k : {64, 256, 1024}) {
    const std::string text =
        "conv2d 1x" + std::to_string(k) + "x16x16 * 32x" + std::to_string(k) + "x1x1 a=normal(0,1) seed=2";
    const ForecastReport r = forecast(parse_case(text), {usual_plan("fp32", DType::f32)},
                                      {usual_plan("tf32", DType::f32)}, with(1e-4, 1e-4));
    const double share = against(r.plans[0], "tf32").share;
    EXPECT_GT(share, 0.33) << k;
    EXPECT_LT(share, 0.45) << k;
  }
}

// 4096^3 on U[0,1): TF32 is off by 0.06 at most and drifts by -0.03; a difference of 50.9 is forty bounds.
TEST(Forecast, LargeGemmDriftsButIsBounded) {
  ForecastOptions options = with(1e-2, 1e-2);
  options.max_terms = 1 << 18;
  const Forecast f = forecast(parse_case("gemm 4096x4096 * 4096x4096 a=uniform(0,1) b=uniform(0,1) seed=1"),
                              {usual_plan("tf32", DType::f32)}, {}, options)
                         .plans[0];
  EXPECT_NEAR(f.judged[0].expected_max, 0.06, 0.01);
  EXPECT_NEAR(f.judged[0].expected_signed, -0.03, 0.006);
  EXPECT_NEAR(f.bound, 1.25, 0.1);
  EXPECT_GT(50.9, 40 * f.bound);
}

// M 64, K 32, N 48 on U[0,1): truncation shows 8.2e-3 with a mean of -5.3e-3, rounding to nearest 1.9e-3
// with a mean near 0.
TEST(Forecast, SignedMeanTellsTruncation) {
  const ForecastReport r =
      forecast(parse_case("gemm 64x32 * 32x48 a=uniform(0,1) b=uniform(0,1) seed=1"),
               {usual_plan("tf32", DType::f32), usual_plan("tf32_rz", DType::f32)}, {}, with(1e-2, 0));
  EXPECT_NEAR(r.plans[0].judged[0].expected_max / 1.9e-3, 1, 0.15);
  EXPECT_LT(std::fabs(r.plans[0].judged[0].expected_signed), 1e-5);
  EXPECT_NEAR(r.plans[1].judged[0].expected_max / 8.2e-3, 1, 0.15);
  EXPECT_NEAR(r.plans[1].judged[0].expected_signed / -5.3e-3, 1, 0.05);
}

TEST(Forecast, UnknownArithmeticIsNamed) {
  try {
    usual_plan("tf23", DType::f32);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("tf32"), std::string::npos) << e.what();
  }
}

TEST(Forecast, ReducedCasesKeepTheirSums) {
  for (const char* text :
       {"conv2d 16x64x1024x1024 * 128x64x1x1", "conv_transpose1d 32x32x131072 * 32x64x5 d3",
        "gemm 65536x512 * 512x65536", "linear 100000x256 * 1000x256", "conv3d 2x8x64x64x64 * 8x8x3x3x3 p1",
        "gemm 16x4096x64 * 16x4096x64 tB"}) {
    const Case c = parse_case(text);
    const Case small = reduced_case(c, 1 << 20);
    EXPECT_EQ(lower(small.problem).terms(), lower(c.problem).terms()) << text;
    EXPECT_LT(lower(small.problem).outputs(), lower(c.problem).outputs()) << text;
    EXPECT_LE(elements(small.problem.a), 1 << 21) << text;
  }
  const Case tiny = parse_case("gemm 4x8 * 8x4");
  EXPECT_EQ(reduced_case(tiny, 1 << 20).problem, tiny.problem);
}

}  // namespace
}  // namespace ulpscope
