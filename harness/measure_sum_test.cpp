#include "harness/measure_sum.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace ulpscope {
namespace {

/// The witness: MPFR with so many bits that no addition rounds.
double mpfr_total(const std::vector<double>& addends) {
  mpfr_t sum, x;
  mpfr_init2(sum, 2300);
  mpfr_init2(x, 53);
  mpfr_set_zero(sum, 1);
  for (const double a : addends) {
    mpfr_set_d(x, a, MPFR_RNDN);
    EXPECT_EQ(mpfr_add(sum, sum, x, MPFR_RNDN), 0);
  }
  const double rounded = mpfr_get_d(sum, MPFR_RNDN);
  mpfr_clears(sum, x, nullptr);
  return rounded;
}

double total(const std::vector<double>& addends) {
  ExactSum s;
  for (const double a : addends) s.add(a);
  return s.value();
}

double random_double(std::mt19937_64& rng, int field_from, int field_to) {
  const auto field =
      static_cast<std::uint64_t>(field_from) + rng() % static_cast<std::uint64_t>(field_to - field_from);
  return std::bit_cast<double>((rng() & 0x800fffffffffffffull) | field << 52);
}

TEST(ExactSum, AgreesWithMpfrOverTheWholeRange) {
  std::mt19937_64 rng(7);
  for (int round = 0; round < 300; ++round) {
    const int from = static_cast<int>(rng() % 2000),
              to = std::min(2046, from + 1 + static_cast<int>(rng() % 400));
    std::vector<double> addends(1 + rng() % 60);
    for (double& a : addends) a = random_double(rng, round % 3 ? from : 0, round % 3 ? to : 60);
    if (round % 2)  // cancel nearly everything
      for (std::size_t i = 0, n = addends.size(); i + 1 < n; ++i) addends.push_back(-addends[i]);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(total(addends) + 0.0),
              std::bit_cast<std::uint64_t>(mpfr_total(addends) + 0.0))
        << "round " << round;
  }
}

TEST(ExactSum, RoundsTiesToEvenAndSeesFarBits) {
  const double ulp = 0x1p-52;
  EXPECT_EQ(total({1, ulp / 2}), 1);                   // a tie: even
  EXPECT_EQ(total({1 + ulp, ulp / 2}), 1 + 2 * ulp);   // a tie: even is above
  EXPECT_EQ(total({1, ulp / 2, 0x1p-1074}), 1 + ulp);  // the last bit of all breaks it
  EXPECT_EQ(total({1, ulp / 2, -0x1p-1074}), 1);       // ... and downwards
  EXPECT_EQ(total({1, 0x1p-1074, -1}), 0x1p-1074);     // subnormal sums are exact
  EXPECT_EQ(total({}), 0);
  const double big = std::numeric_limits<double>::max();
  EXPECT_EQ(total({big, big, -big}), big);  // no overflow on the way
  EXPECT_TRUE(std::isinf(total({big, big})));
  EXPECT_EQ(total({-big, -0x1p970, 0x1p970}), -big);
}

TEST(ExactSum, OrderAndGroupingDoNotMatter) {
  std::mt19937_64 rng(11);
  std::vector<double> addends(5000);
  for (double& a : addends) a = random_double(rng, 900, 1200);
  const double expected = total(addends);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(addends.begin(), addends.end(), rng);
    ExactSum parts[3];
    for (const double a : addends) parts[rng() % 3].add(a);
    parts[0].add(parts[1]);
    parts[0].add(parts[2]);
    EXPECT_EQ(parts[0].value(), expected);
  }
}

}  // namespace
}  // namespace ulpscope
