#include "harness/statistics/tail.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ulpscope {
namespace {

// P(sum of n uniforms on [-1, 1] > x): Irwin and Hall's formula, summed from the near end of the support.
double irwin_hall(int n, double x) {
  double sum = 0, binomial = 1;
  for (int k = 0; k <= n; ++k) {
    const double t = (n - x) / 2 - k;
    if (t <= 0) break;
    sum += (k % 2 ? -1 : 1) * binomial * std::exp(n * std::log(t) - std::lgamma(n + 1));
    binomial = binomial * (n - k) / (k + 1);
  }
  return sum;
}

Spread equal(int n, double half) {
  SpreadSum s;
  for (int i = 0; i < n; ++i) s.add_uniform(half);
  return s.spread();
}

TEST(Tail, CountsEqualContributions) {
  const Spread s = equal(7, 0.25);
  EXPECT_NEAR(s.effective, 7, 1e-9);
  EXPECT_NEAR(s.sigma, 0.25 * std::sqrt(7.0 / 3), 1e-12);
  SpreadSum with_normal;
  with_normal.add_uniform(1);
  with_normal.add_normal(3);
  EXPECT_GT(with_normal.spread().effective, 50);
}

TEST(Tail, MatchesIrwinHallIntoTheTail) {
  for (const int n : {1, 2, 3, 4, 6, 8, 12, 16}) {
    for (double rho = 0.05; rho < 0.95; rho += 0.05) {
      const double x = rho * n, want = irwin_hall(n, x), got = upper_tail(equal(n, 1), x);
      if (want < 1e-13) continue;  // the formula's own cancellation
      EXPECT_NEAR(got / want, 1, n == 2 ? 0.12 : 0.06) << "n " << n << " x/n " << rho << " want " << want;
    }
  }
}

// Two-sided: what the normal law would say is too much by factors.
TEST(Tail, NormalLawOverestimatesFewContributions) {
  const Spread s = equal(6, 1);
  const double limit = 3.5 * s.sigma;
  EXPECT_GT(2 * normal_tail(3.5), 5 * two_sided_tail(s, 0, 0, limit));
}

TEST(Tail, NothingBeyondTheSupport) {
  EXPECT_EQ(upper_tail(equal(3, 1), 3.001), 0);
  EXPECT_EQ(upper_tail(Spread{}, 0), 0);
  EXPECT_EQ(upper_tail(Spread{}, -1e-30), 1);
  EXPECT_EQ(two_sided_tail(Spread{}, 2, 0, 1), 1);
  EXPECT_EQ(two_sided_tail(Spread{}, 0.5, 0, 1), 0);
  EXPECT_EQ(two_sided_tail(Spread{1, 4}, NAN, 0, 1), 1);
  EXPECT_EQ(two_sided_tail(Spread{1, 4}, HUGE_VAL, 0, 1), 1);
}

// Unequal weights against simulation: 4e6 draws, fixed seed; standard error of p is sqrt(p / 4e6).
TEST(Tail, WeightedSaddlepointMatchesSimulation) {
  const std::vector<double> halves{3, 2, 1, 1, 0.5, 0.25, 0.25, 0.1};
  std::mt19937_64 rng(5);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::normal_distribution<double> normal(0, 0.3);
  const double limits[] = {0.5, 2, 4, 5, 6, 7};
  double count[6] = {};
  constexpr int kDraws = 1'000'000;
  for (int i = 0; i < kDraws; ++i) {
    double sum = normal(rng) + 0.2;
    for (const double h : halves) sum += h * unit(rng);
    for (int l = 0; l < 6; ++l) count[l] += std::fabs(sum) > limits[l];
  }
  for (int l = 0; l < 6; ++l) {
    const double seen = count[l] / kDraws, got = weighted_two_sided_tail(halves, 0.09, 0.2, limits[l]);
    EXPECT_NEAR(got, seen, 0.04 * seen + 4 * std::sqrt(seen / kDraws)) << "limit " << limits[l];
  }
  EXPECT_EQ(weighted_two_sided_tail(halves, 0, 0, 8.2), 0);
}

// Output rounding on top of a narrow normal error: P(|X + U| > t) against simulation.
TEST(Tail, OutputRoundingIsAveragedExactly) {
  std::mt19937_64 rng(6);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (const double sigma : {0.0, 0.05, 0.3, 1.0}) {
    std::normal_distribution<double> normal(0, sigma > 0 ? sigma : 1);
    for (const double limit : {0.5, 0.95, 1.05, 1.5}) {
      int count = 0;
      constexpr int kDraws = 200'000;
      for (int i = 0; i < kDraws; ++i)
        count += std::fabs((sigma > 0 ? normal(rng) : 0) + 0.1 + unit(rng)) > limit;
      const double seen = static_cast<double>(count) / kDraws;
      EXPECT_NEAR(two_sided_tail({sigma, HUGE_VAL}, 0.1, 1, limit), seen,
                  4 * std::sqrt((seen + 1e-5) / kDraws) + 0.001)
          << sigma << " " << limit;
    }
  }
}

TEST(Tail, MeanAbsolute) {
  EXPECT_NEAR(mean_absolute({2, HUGE_VAL}, 0, 0), 2 * 0.797884560802865, 1e-9);
  EXPECT_NEAR(mean_absolute({}, 0, 1), 0.5, 0.02);  // one rounding: half / 2
  EXPECT_EQ(mean_absolute({}, -3, 0), 3);
  EXPECT_NEAR(mean_absolute({1, HUGE_VAL}, 10, 0), 10, 1e-9);
}

}  // namespace
}  // namespace ulpscope
