#include "harness/statistics/mixture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ulpscope {
namespace {

ErrorMixture normals(std::int64_t total, std::vector<double> sigmas, double value = 1) {
  ErrorMixture m;
  m.total = total;
  for (const double s : sigmas) {
    OutputError e;
    e.spread.sigma = s;
    e.value = value;
    m.outputs.push_back(e);
  }
  return m;
}

// Expected maximum of N |normal| numbers: by simulation with a fixed seed.
TEST(Mixture, ExpectedMaximumOfEqualNormals) {
  std::mt19937_64 rng(3);
  std::normal_distribution<double> normal;
  constexpr int kRuns = 4000, kN = 300;
  double sum = 0;
  for (int r = 0; r < kRuns; ++r) {
    double top = 0;
    for (int i = 0; i < kN; ++i) top = std::max(top, std::fabs(normal(rng)));
    sum += top;
  }
  EXPECT_NEAR(expected_max_abs(normals(kN, {1})), sum / kRuns, 0.03);
  // The textbook sqrt(2 ln N) is too large here: the integral is not that law.
  EXPECT_LT(expected_max_abs(normals(kN, {1})), std::sqrt(2 * std::log(300.0)) - 0.1);
}

// Half of the outputs with a tenth of the spread must not matter; one per mille with five times it rules.
TEST(Mixture, WideOutputsRuleTheMaximum) {
  std::vector<double> sigmas(1000, 1.0);
  sigmas[17] = 5;
  std::mt19937_64 rng(4);
  std::normal_distribution<double> normal;
  constexpr int kRuns = 300, kTimes = 20;
  double sum = 0;
  for (int r = 0; r < kRuns; ++r) {
    double top = 0;
    for (int t = 0; t < kTimes; ++t)
      for (const double s : sigmas) top = std::max(top, s * std::fabs(normal(rng)));
    sum += top;
  }
  EXPECT_NEAR(expected_max_abs(normals(1000 * kTimes, sigmas)), sum / kRuns, 0.3);
}

TEST(Mixture, FailProbabilityCountsAllOutputs) {
  const ErrorMixture one = normals(1, {1}), many = normals(100, {1});
  const double p = 2 * normal_tail(3);
  EXPECT_NEAR(fail_probability(one, 3, 0), p, 1e-12);
  EXPECT_NEAR(fail_probability(many, 3, 0), 1 - std::pow(1 - p, 100), 1e-10);
  EXPECT_NEAR(fail_probability(one, 2, 1), p, 1e-12);  // atol + rtol*|value| = 3
  EXPECT_NEAR(violating_share(many, 3, 0), p, 1e-12);
  EXPECT_EQ(fail_probability(normals(1'000'000'000, {1}), 1, 0), 1);
}

TEST(Mixture, SmallestToleranceIsTheSmallest) {
  std::vector<double> sigmas;
  for (int i = 1; i <= 50; ++i) sigmas.push_back(1e-6 * i);
  const ErrorMixture m = normals(50'000, sigmas, 0.1);
  for (const double rtol : {0.0, 1e-4, 1e-2}) {
    const double atol = smallest_atol(m, rtol, 1e-3);
    EXPECT_EQ(atol, two_digits_up(atol));
    EXPECT_LT(fail_probability(m, atol, rtol), 1e-3);
    if (atol > 0) {
      EXPECT_GE(fail_probability(m, atol * 0.955, rtol), 1e-3) << atol;
    }
  }
  EXPECT_EQ(smallest_atol(m, 1, 1e-3), 0);
}

TEST(Mixture, TwoDigits) {
  EXPECT_EQ(two_digits_up(1.01e-4), 1.1e-4);
  EXPECT_EQ(two_digits_up(9.91e-4), 1.0e-3);
  EXPECT_EQ(two_digits_up(1.0e-4), 1.0e-4);
  EXPECT_EQ(two_digits_up(4.4e7), 4.4e7);
}

// Results on one 16-bit grid differ by whole steps: a tolerance below a step sees any difference, one above
// only larger differences.
TEST(Mixture, ResultsOnOneGrid) {
  OutputError e;
  e.grid = 1;
  e.spread.sigma = 0.01;
  const double differ = e.exceeds(0.3);
  EXPECT_NEAR(differ, 0.01 * std::sqrt(2 / M_PI), 1e-4);  // E|d| / step
  EXPECT_EQ(e.exceeds(0.9), differ);
  EXPECT_LT(e.exceeds(1.0), 1e-12);
  e.spread.sigma = 0;
  EXPECT_EQ(e.exceeds(0), 0);
}

TEST(Mixture, TruncationCountsItsMean) {
  OutputError e;
  e.offset = -1;
  e.spread.sigma = 1e-3;
  ErrorMixture m;
  m.total = 1000;
  m.outputs = {e};
  EXPECT_NEAR(expected_max_abs(m), 1.003, 0.002);
  EXPECT_NEAR(expected_mean_abs(m), 1, 1e-6);
  EXPECT_NEAR(expected_mean_signed(m), -1, 1e-12);
  EXPECT_NEAR(fail_probability(m, 1, 0), 1, 1e-9);
}

}  // namespace
}  // namespace ulpscope
