#include "reference/arithmetic/operand.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <random>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

std::uint32_t bits(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
float value(std::uint32_t u) {
  return std::bit_cast<float>(u);
}

OperandFormat at(int i) {
  return static_cast<OperandFormat>(i);
}

// Independent witness. MPFR has no ties-away: RNDNA is emulated by its documented pair of calls.
float mpfr_shortened(OperandFormat format, float x) {
  const OperandInfo& f = info(format);
  const bool away = format == OperandFormat::tf32_rna;
  const mpfr_rnd_t mode =
      format == OperandFormat::tf32_rz || format == OperandFormat::bf16_rz ? MPFR_RNDZ : MPFR_RNDN;
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  mpfr_t v;
  mpfr_init2(v, f.precision);
  mpfr_set_emin(f.emin - f.precision + 2);
  mpfr_set_emax(format == OperandFormat::fp8_e4m3    ? 9
                : f.precision == 11 && f.emin == -14 ? 16
                : f.emin == -14                      ? 16
                                                     : 128);
  if (away) {
    // Half a unit added to the magnitude, then truncated: ties away.
    const int e = std::max(std::ilogb(x), f.emin);
    const double half = std::ldexp(1.0, e - f.precision);
    const double moved = std::copysign(std::fabs(static_cast<double>(x)) + half, x);
    const int t = mpfr_set_d(v, moved, MPFR_RNDZ);
    mpfr_subnormalize(v, t, MPFR_RNDZ);
  } else {
    int t = mpfr_set_flt(v, x, mode);
    t = mpfr_check_range(v, t, mode);
    mpfr_subnormalize(v, t, mode);
  }
  float r = mpfr_get_flt(v, MPFR_RNDN);
  mpfr_clear(v);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  if (format == OperandFormat::fp8_e4m3 || format == OperandFormat::fp8_e5m2)
    if (std::fabs(r) > f.largest) r = std::copysign(static_cast<float>(f.largest), x);
  return r;
}

TEST(OperandFormat, AgreesWithMpfr) {
  std::mt19937 rng(7);
  for (int i = 0; i < kOperandFormats; ++i) {
    if (at(i) == OperandFormat::fp64 || at(i) == OperandFormat::fp32) continue;
    for (int n = 0; n < 60000; ++n) {
      std::uint32_t u = rng();
      if (n % 4 == 0) u &= ~0xfffu;                                             // ties
      if (n % 4 == 1) u = (u & 0x83ffffffu) | ((rng() % 2 ? 13u : 14u) << 26);  // near 1, where fp8 lives
      if (n % 16 == 2) u &= 0x807fffffu;                                        // subnormal
      const float x = value(u);
      if (!std::isfinite(x) || std::fabs(x) >= 0x1.ffcp127f) continue;
      if (x == 0) continue;
      ASSERT_EQ(bits(shorten(at(i), x)), bits(mpfr_shortened(at(i), x)))
          << info(at(i)).name << " " << std::hexfloat << x;
    }
  }
}

TEST(OperandFormat, TwoNumbersTellTheTf32RoundingsApart) {
  const float tie = 1 + 0x1p-11f, above = 1 + 0x1p-11f + 0x1p-23f;
  EXPECT_EQ(shorten(OperandFormat::tf32_rz, tie), 1.0f);
  EXPECT_EQ(shorten(OperandFormat::tf32_rne, tie), 1.0f);
  EXPECT_EQ(shorten(OperandFormat::tf32_rna, tie), 1 + 0x1p-10f);
  EXPECT_EQ(shorten(OperandFormat::tf32_rz, above), 1.0f);
  EXPECT_EQ(shorten(OperandFormat::tf32_rne, above), 1 + 0x1p-10f);
}

TEST(OperandFormat, SpecialValues) {
  for (int i = 0; i < kOperandFormats; ++i) {
    SCOPED_TRACE(info(at(i)).name);
    EXPECT_TRUE(std::isnan(shorten(at(i), value(0x7fc00001))));
    if (at(i) == OperandFormat::tf32_rz)  // payload in the low bits only
      EXPECT_EQ(shorten(at(i), value(0xff800001)), -HUGE_VALF);
    else
      EXPECT_TRUE(std::isnan(shorten(at(i), value(0xff800001))));
    EXPECT_EQ(bits(shorten(at(i), -0.0f)), 0x80000000u);
    const bool saturates = at(i) == OperandFormat::fp8_e4m3 || at(i) == OperandFormat::fp8_e5m2;
    if (saturates)
      EXPECT_EQ(shorten(at(i), -HUGE_VALF), -static_cast<float>(info(at(i)).largest));
    else
      EXPECT_EQ(shorten(at(i), -HUGE_VALF), -HUGE_VALF);
  }
  EXPECT_EQ(shorten(OperandFormat::fp16, 65519.0f), 65504.0f);
  EXPECT_EQ(shorten(OperandFormat::fp16, 65520.0f), HUGE_VALF);
  EXPECT_EQ(shorten(OperandFormat::bf16, 0x1.fffffep127f), HUGE_VALF);
  EXPECT_EQ(shorten(OperandFormat::bf16_rz, 0x1.fffffep127f), 0x1.fep127f);
}

TEST(OperandFormat, ErrorsStayWithinTheTable) {
  std::mt19937 rng(8);
  for (int i = 0; i < kOperandFormats; ++i) {
    const OperandInfo& f = info(at(i));
    for (int n = 0; n < 50000; ++n) {
      const double x = static_cast<double>(value(rng()));
      if (!(std::fabs(x) <= f.largest)) continue;
      const double r = static_cast<double>(shorten(at(i), static_cast<float>(x)));
      if (std::isinf(r)) continue;
      const double allowed = std::fabs(x) >= std::ldexp(1.0, f.emin) ? f.relative * std::fabs(x) : f.absolute;
      ASSERT_LE(std::fabs(r - x), allowed) << f.name << " " << x;
    }
  }
}

TEST(OperandFormat, NamesAndContainment) {
  for (int i = 0; i < kOperandFormats; ++i) EXPECT_EQ(parse_operand(info(at(i)).name), at(i));
  EXPECT_THROW(parse_operand("tf32"), Error);
  EXPECT_TRUE(contains(OperandFormat::fp32, OperandFormat::tf32_rna));
  EXPECT_TRUE(contains(OperandFormat::tf32_rne, OperandFormat::bf16));
  EXPECT_TRUE(contains(OperandFormat::tf32_rz, OperandFormat::fp16));
  EXPECT_FALSE(contains(OperandFormat::fp16, OperandFormat::bf16));
  EXPECT_FALSE(contains(OperandFormat::bf16, OperandFormat::fp16));
}

}  // namespace
}  // namespace ulpscope
