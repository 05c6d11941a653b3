#include "harness/fill.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "harness/inputs.hpp"
#include "reference/simd.hpp"

namespace ulpscope {
namespace {

TEST(Philox, GivesThePublishedVectors) {
  // Random123's known answers for philox4x32, 10 rounds: counter, key, result.
  struct Vector {
    PhiloxState counter;
    std::uint32_t k0, k1;
    PhiloxState result;
  };
  constexpr std::uint32_t kOnes = 0xffffffff;
  const Vector vectors[] = {
      {{0, 0, 0, 0}, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{kOnes, kOnes, kOnes, kOnes}, kOnes, kOnes, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},  // pi, in counter and key
       0xa4093822,
       0x299f31d0,
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const auto& v : vectors) {
    const PhiloxState r = philox4x32(v.counter, v.k0, v.k1);
    EXPECT_EQ(r.c0, v.result.c0);
    EXPECT_EQ(r.c1, v.result.c1);
    EXPECT_EQ(r.c2, v.result.c2);
    EXPECT_EQ(r.c3, v.result.c3);
  }
}

TEST(Normal, ElementaryFunctionsAgreeWithMpfr) {
  std::mt19937_64 rng(1);
  mpfr_t x;
  mpfr_init2(x, 120);
  double worst_log = 0, worst_sin = 0, worst_cos = 0;
  auto relative = [&](double ours) {
    mpfr_t d;
    mpfr_init2(d, 120);
    mpfr_sub_d(d, x, ours, MPFR_RNDN);
    mpfr_div(d, d, x, MPFR_RNDN);
    const double r = std::abs(mpfr_get_d(d, MPFR_RNDN));
    mpfr_clear(d);
    return r;
  };
  for (int i = 0; i < 20000; ++i) {
    const double u =
        std::ldexp(static_cast<double>((rng() >> 12) + 1), -52 - static_cast<int>(rng() % 3) * 15);
    if (u != 1) {
      mpfr_set_d(x, u, MPFR_RNDN);
      mpfr_log(x, x, MPFR_RNDN);
      worst_log = std::max(worst_log, relative(portable_log(u)));
    }
    const double t = (static_cast<double>(rng() >> 11) * 0x1p-53 - 0.5) * 0x1.921fb54442d18p0;
    mpfr_set_d(x, t, MPFR_RNDN);
    mpfr_sin(x, x, MPFR_RNDN);
    worst_sin = std::max(worst_sin, relative(portable_sin(t)));
    mpfr_set_d(x, t, MPFR_RNDN);
    mpfr_cos(x, x, MPFR_RNDN);
    worst_cos = std::max(worst_cos, relative(portable_cos(t)));
  }
  mpfr_clear(x);
  // Near u = 1 the logarithm's e * ln 2 is 0 and nothing cancels; a few roundings of 2^-53 each.
  EXPECT_LT(worst_log, 0x1p-50);
  EXPECT_LT(worst_sin, 0x1p-51);
  EXPECT_LT(worst_cos, 0x1p-51);
  EXPECT_EQ(portable_log(1.0), 0.0);
}

std::vector<double> sample(FillParams p, std::int64_t n, std::uint64_t seed = 7) {
  p.format = FillFormat::f64;
  p.precision = 53;
  p.emin = -1022;
  p.grid = 52;
  std::vector<double> v(static_cast<std::size_t>(n));
  fill_range(p, {seed, 0}, 0, n, v.data());
  return v;
}

// Kolmogorov-Smirnov distance times sqrt(n): below 1.95 with probability 0.999 if the distribution is right.
template <class Cdf>
double kolmogorov(std::vector<double> v, Cdf cdf) {
  std::sort(v.begin(), v.end());
  const double n = static_cast<double>(v.size());
  double d = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double f = cdf(v[i]);
    d = std::max({d, f - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - f});
  }
  return d * std::sqrt(n);
}

TEST(Normal, HasTheNormalDistribution) {
  constexpr std::int64_t n = 1 << 19;
  FillParams p;
  p.kind = FillKind::normal;
  const std::vector<double> v = sample(p, n);
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, lag = 0, pair = 0, largest = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double x = v[i];
    m1 += x;
    m2 += x * x;
    m3 += x * x * x;
    m4 += x * x * x * x;
    if (i + 1 < v.size()) lag += x * v[i + 1];
    if (i % 2 == 0) pair += (x * x - 1) * (v[i + 1] * v[i + 1] - 1);  // one radius serves both
    largest = std::max(largest, std::abs(x));
  }
  const double root = std::sqrt(static_cast<double>(n));
  // Four standard errors: of the moments 1, sqrt 2, sqrt 15, sqrt 96; of the products 1 and 2 sqrt 2.
  EXPECT_LT(std::abs(m1 / n), 4 / root);
  EXPECT_LT(std::abs(m2 / n - 1), 4 * std::sqrt(2.0) / root);
  EXPECT_LT(std::abs(m3 / n), 4 * std::sqrt(15.0) / root);
  EXPECT_LT(std::abs(m4 / n - 3), 4 * std::sqrt(96.0) / root);
  EXPECT_LT(std::abs(lag / n), 4 / root);
  EXPECT_LT(std::abs(pair / n), 4 * std::sqrt(8.0) / root);
  EXPECT_GT(largest, 4.2);  // the tail is there: expected maximum of 2^19 is 4.9
  EXPECT_LT(largest, 6);
  EXPECT_LT(kolmogorov(v, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }), 1.95);
}

TEST(Normal, TheTestAboveCatchesAPoorGenerator) {
  // The sum of twelve uniform numbers minus six: right mean and variance, wrong shape.
  FillParams p;
  p.kind = FillKind::uniform;
  const std::vector<double> u = sample(p, 12 << 18);
  std::vector<double> v(std::size_t{1} << 18, -6.0);
  for (std::size_t i = 0; i < u.size(); ++i) v[i / 12] += u[i];
  double m4 = 0;
  for (const double x : v) m4 += x * x * x * x / static_cast<double>(v.size());
  EXPECT_GT(std::abs(m4 - 3), 4 * std::sqrt(96.0 / static_cast<double>(v.size())));
}

TEST(Uniform, HasTheUniformDistributionOnItsGrid) {
  FillParams p;
  p.kind = FillKind::uniform;
  EXPECT_LT(kolmogorov(sample(p, 1 << 19), [](double x) { return x; }), 1.95);
  std::vector<float> v(1 << 12);
  fill_range(p, {3, 1}, 0, 1 << 12, v.data());
  for (const float x : v) {
    EXPECT_EQ(x * 0x1p24f, std::floor(x * 0x1p24f)) << "frameworks' uniform numbers lie on a grid of 2^-24";
    EXPECT_LT(x, 1.0f);
  }
}

TEST(Fill, EveryLevelAndEveryCutGivesTheSameBits) {
  for (const FillKind kind :
       {FillKind::zeros, FillKind::ones, FillKind::uniform, FillKind::normal, FillKind::integers,
        FillKind::tf32, FillKind::wide, FillKind::subnormal, FillKind::special, FillKind::cancel}) {
    FillParams p;
    p.kind = kind;
    p.lo = -3;
    p.range = 7;
    p.top = 3.999;
    p.mean = 0.5;
    p.stddev = 3;
    p.choices = 11;
    p.special_threshold = 1u << 30;
    p.specials[3] = 0x7fc00000;
    p.stride = 3;
    p.size = 10;
    p.negate = 1;
    const FillKey key{0x123456789abcdefull, 2};
    constexpr std::int64_t n = 2000;
    const std::int64_t begin = (std::int64_t{1} << 33) - 500;  // counters cross 32 bits
    std::vector<std::uint32_t> one_by_one(n), base(n), v3(n);
    for (std::int64_t i = 0; i < n; ++i)
      one_by_one[static_cast<std::size_t>(i)] =
          static_cast<std::uint32_t>(fill_element(p, key, static_cast<std::uint64_t>(begin + i)));
    simd_base::fill_range(p, key, begin, n, base.data());
    EXPECT_EQ(base, one_by_one) << static_cast<int>(kind);
    if (simd_level() == SimdLevel::v3) {
      simd_v3::fill_range(p, key, begin, 300, v3.data());
      simd_v3::fill_range(p, key, begin + 300, n - 300, v3.data() + 300);
      EXPECT_EQ(v3, one_by_one) << static_cast<int>(kind);
    }
  }
}

TEST(Fill, RoundsAsTheNumberFormatsDo) {
  std::mt19937_64 rng(5);
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    FillParams p;
    p.format = static_cast<FillFormat>(type);
    p.precision = info(type).precision;
    p.emin = info(type).emin;
    for (int i = 0; i < 100000; ++i) {
      const auto exponent = static_cast<int>(rng() % 330) - 165;
      double x = std::ldexp(static_cast<double>(rng() >> 11), exponent - 53);
      if (i % 2) x = std::ldexp(static_cast<double>(rng() % 4096), exponent / 8 - 12);  // ties
      if (rng() & 1) x = -x;
      ASSERT_EQ(fill_round(p, x), round_to_bits(type, x)) << x << " " << name_of(type);
    }
  }
}

TEST(Fill, TensorsAndSeedsGetIndependentStreams) {
  FillParams p;
  p.kind = FillKind::uniform;
  const FillKey keys[] = {{1, 0}, {1, 1}, {2, 0}, {std::uint64_t{1} << 32 | 1, 0}};
  std::vector<std::uint64_t> firsts;
  for (const auto& key : keys) firsts.push_back(fill_element(p, key, 0));
  std::sort(firsts.begin(), firsts.end());
  EXPECT_EQ(std::unique(firsts.begin(), firsts.end()), firsts.end());
}

}  // namespace
}  // namespace ulpscope
