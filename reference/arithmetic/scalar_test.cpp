#include "reference/arithmetic/scalar.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <random>

namespace ulpscope {
namespace {

double by_mpfr(DType type, double a, double b, double c, bool product) {
  mpfr_t x, y;
  mpfr_init2(x, 4000);
  mpfr_init2(y, 4000);
  mpfr_set_d(x, a, MPFR_RNDN);
  if (product) mpfr_mul_d(x, x, b, MPFR_RNDN);
  mpfr_add_d(x, x, c, MPFR_RNDN);
  const FormatInfo& f = info(type);
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  mpfr_set_prec(y, f.precision);
  mpfr_set_emin(f.emin - f.precision + 2);
  mpfr_set_emax(f.emax + 1);
  int t = mpfr_set(y, x, MPFR_RNDN);
  t = mpfr_check_range(y, t, MPFR_RNDN);
  mpfr_subnormalize(y, t, MPFR_RNDN);
  const double r = mpfr_get_d(y, MPFR_RNDN);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  mpfr_clear(x);
  mpfr_clear(y);
  return r;
}

TEST(Scalar, OneRoundingInEveryFormat) {
  std::mt19937_64 rng(5);
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const FormatInfo& f = info(type);
    for (int i = 0; i < 30000; ++i) {
      auto random = [&](int width) {
        const double m = 1 + static_cast<double>(rng() >> 11) * 0x1p-53;
        const int e = static_cast<int>(rng() % static_cast<unsigned>(2 * width)) - width;
        return round_in(type, std::ldexp(rng() & 1 ? m : -m, e));
      };
      const int width = i % 3 == 0 ? -f.emin + 3 : i % 3 == 1 ? 6 : -f.emin / 2;
      const double a = random(width), b = random(width), c = random(width);
      if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) continue;
      ASSERT_EQ(fma_in(type, a, b, c), by_mpfr(type, a, b, c, true))
          << name_of(type) << " " << a << " " << b << " " << c;
      ASSERT_EQ(add_in(type, a, c), by_mpfr(type, a, 0, c, false));
      ASSERT_EQ(mul_in(type, a, b), by_mpfr(type, a, b, 0, true));
    }
  }
}

// The exact sum lies just beside a tie of bf16, nearer than a double can tell; rounding twice would go to
// even.
TEST(Scalar, DoubleRoundingIsAvoided) {
  EXPECT_EQ(fma_in(DType::bf16, 0x1p-30, 0x1p-38, 1 + 0x1p-8), 1.0 + 0x1p-7);
  EXPECT_EQ(add_in(DType::bf16, 1.0 + 0x1p-8, 0x1p-80), 1.0 + 0x1p-7);
  EXPECT_EQ(add_in(DType::bf16, 1.0 + 0x1p-8, -0x1p-80), 1.0);
}

TEST(Scalar, ASerialHalfAccumulatorLosesWhatTheFieldSaw) {
  double acc = 0;
  for (int i = 0; i < 2000; ++i) acc = add_in(DType::f16, acc, 3.0);
  EXPECT_EQ(acc, 7316);
  float mean = 0;
  for (int i = 0; i < 10000; ++i) {
    const double x = 10000 + (1.7 - 10000) * i / 9999;
    mean += static_cast<float>(x);
  }
  EXPECT_NEAR(mean / 10000, 5000.9077f, 0.06f);
}

}  // namespace
}  // namespace ulpscope
