#include "reference/formats.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "reference/error.hpp"
#include "reference/tensor.hpp"

namespace ulpscope {
namespace {

// Independent witness: MPFR with the format's precision and exponent range, subnormals included.
double mpfr_rounded(DType type, double x) {
  const FormatInfo& f = info(type);
  mpfr_t v;
  mpfr_init2(v, static_cast<mpfr_prec_t>(f.precision));
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  mpfr_set_emin(f.emin - f.precision + 2);  // MPFR's significand lies in [1/2, 1)
  mpfr_set_emax(f.emax + 1);
  const int inexact = mpfr_set_d(v, x, MPFR_RNDN);
  mpfr_subnormalize(v, mpfr_check_range(v, inexact, MPFR_RNDN), MPFR_RNDN);
  const double rounded = mpfr_get_d(v, MPFR_RNDN);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  mpfr_clear(v);
  return rounded;
}

class Formats : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, Formats, testing::Values(DType::f64, DType::f32, DType::f16, DType::bf16),
                         [](auto& p) { return std::string(name_of(p.param)); });

TEST_P(Formats, RoundingAgreesWithMpfr) {
  std::mt19937_64 rng(1);
  const FormatInfo& f = info(GetParam());
  for (int i = 0; i < 200000; ++i) {
    const int exponent = static_cast<int>(rng() % static_cast<unsigned>(f.emax - f.emin + 60)) + f.emin - 40;
    double x = std::ldexp(1.0 + static_cast<double>(rng() >> 12) * 0x1p-52, exponent);
    if (i % 3 == 0)
      x = std::ldexp(static_cast<double>(rng() % (4ull << (f.precision % 53))), exponent - f.precision);
    if (rng() & 1) x = -x;
    const double ours = value_of_bits(GetParam(), round_to_bits(GetParam(), x));
    ASSERT_EQ(std::bit_cast<std::uint64_t>(ours), std::bit_cast<std::uint64_t>(mpfr_rounded(GetParam(), x)))
        << x;
  }
}

TEST(FormatsTest, EverySixteenBitPatternSurvivesARoundTrip) {
  for (const DType type : {DType::f16, DType::bf16})
    for (std::uint64_t bits = 0; bits < 0x10000; ++bits) {
      const double v = value_of_bits(type, bits);
      if (std::isnan(v)) continue;
      ASSERT_EQ(round_to_bits(type, v), bits);
    }
}

TEST_P(Formats, OverflowStartsHalfAnUlpBeyondTheLargestNumber) {
  if (GetParam() == DType::f64) return;
  const FormatInfo& f = info(GetParam());
  const double largest = std::ldexp(2 - std::ldexp(1.0, 1 - f.precision), f.emax);
  const double half_ulp = std::ldexp(1.0, f.emax - f.precision);
  EXPECT_EQ(value_of_bits(GetParam(), round_to_bits(GetParam(), std::nextafter(largest + half_ulp, 0))),
            largest);
  EXPECT_TRUE(std::isinf(value_of_bits(GetParam(), round_to_bits(GetParam(), largest + half_ulp))));
}

TEST(FormatsTest, Fp32RoundingIsTheProcessorsOwn) {
  std::mt19937_64 rng(2);
  for (int i = 0; i < 300000; ++i) {
    const auto x = std::bit_cast<double>((rng() & 0x800fffffffffffffull) | (rng() % 400 + 823) << 52);
    ASSERT_EQ(round_to_bits(DType::f32, x), std::bit_cast<std::uint32_t>(static_cast<float>(x))) << x;
  }
}

TEST(FormatsTest, UlpFollowsTheDefinition) {
  EXPECT_EQ(ulp_at(DType::f32, 1.0), 0x1p-23);
  EXPECT_EQ(ulp_at(DType::f32, 0x1.fffffffp0), 0x1p-23);  // at the real value, not at its rounded float 2
  EXPECT_EQ(ulp_at(DType::f32, 0x1p-140), 0x1p-149);
  EXPECT_EQ(ulp_at(DType::bf16, -3.0), 0x1p-6);
}

TEST(FormatsTest, OrderedDistanceCountsFloatsAcrossZeroAndBinades) {
  auto bits = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
  EXPECT_EQ(ordered_distance(DType::f32, bits(0.0f), bits(-0.0f)), 0u);
  EXPECT_EQ(ordered_distance(DType::f32, bits(0x1p-149f), bits(-0x1p-149f)), 2u);
  EXPECT_EQ(ordered_distance(DType::f32, bits(1.0f), bits(std::nextafter(1.0f, 0.0f))), 1u);
  EXPECT_EQ(ordered_distance(DType::f32, bits(std::numeric_limits<float>::max()),
                             bits(std::numeric_limits<float>::infinity())),
            1u);
}

TEST(FormatsTest, UnknownNamesAreRefusedInOneLine) {
  EXPECT_THROW(parse_dtype("fp8"), Error);
  EXPECT_EQ(parse_dtype("bf16"), DType::bf16);
}

TEST(TensorTest, ShapesThatOverflowAreRefused) {
  EXPECT_EQ(elements({16, 128, 1024, 1024}), std::int64_t{1} << 31);
  EXPECT_THROW(elements({std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  EXPECT_THROW(elements({-1}), Error);
  EXPECT_THROW(make_tensor(DType::f64, {std::int64_t{1} << 61}), Error);
}

TEST(TensorTest, ViewReadsEveryFormat) {
  Tensor t = make_tensor(DType::bf16, {2});
  t.as<std::uint16_t>()[0] = 0x3f80;
  t.as<std::uint16_t>()[1] = 0xc000;
  EXPECT_EQ(t.view().at(0), 1.0);
  EXPECT_EQ(t.view().at(1), -2.0);
}

}  // namespace
}  // namespace ulpscope
