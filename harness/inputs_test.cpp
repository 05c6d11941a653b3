#include "harness/inputs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<double> values(const Tensor& t) {
  std::vector<double> v;
  for (std::int64_t i = 0; i < t.size(); ++i) v.push_back(t.view().at(i));
  return v;
}

TEST(Inputs, DoNotDependOnThreadsOrOnWhereARangeBegins) {
  const Case c = parse_case("conv2d 3x16x200x250 * 5x16x3x3 p1 bias a=normal");
  const Inputs one = make_inputs(c, 1), four = make_inputs(c, 4);
  EXPECT_EQ(one.hash, four.hash);
  EXPECT_EQ(one.hash_a, four.hash_a);
  ASSERT_EQ(std::memcmp(one.a.data.get(), four.a.data.get(), one.a.view().bytes()), 0);
  const TensorFill fill = resolve_fills(c).a;
  std::vector<float> part(1001);
  fill_tensor(fill, 1'234'566, 1001, part.data());
  EXPECT_EQ(std::memcmp(part.data(), one.a.as<float>() + 1'234'566, 1001 * 4), 0);
}

TEST(Inputs, HashesSeeEveryBitShapeAndFormat) {
  Case c = parse_case("gemm 8x8 * 8x8 seed=1");
  const std::string hash = make_inputs(c).hash;
  EXPECT_EQ(make_inputs(c).hash, hash);
  c.seed = 2;
  EXPECT_NE(make_inputs(c).hash, hash);
  const Case zeros = parse_case("dot 64 * 64 a=zeros b=zeros"),
             other = parse_case("gemm 8x8 * 8x8 a=zeros b=zeros");
  EXPECT_EQ(make_inputs(zeros).hash_a, make_inputs(other).hash_a);
  EXPECT_NE(make_inputs(zeros).hash, make_inputs(other).hash) << "same bytes, other shapes";
}

TEST(Inputs, BytesAreHashedInFixedChunks) {
  const std::string small = "abc";
  XXH128_canonical_t inner;
  XXH128_canonicalFromHash(&inner, XXH3_128bits(small.data(), small.size()));
  const XXH128_hash_t outer = XXH3_128bits(&inner, sizeof inner);
  char expected[33];
  std::snprintf(expected, sizeof expected, "%016llx%016llx", static_cast<unsigned long long>(outer.high64),
                static_cast<unsigned long long>(outer.low64));
  EXPECT_EQ(hash_bytes(small.data(), small.size()), expected);
  std::vector<char> big((std::size_t{33} << 20) + 5, 'x');
  const std::string before = hash_bytes(big.data(), big.size(), 3);
  EXPECT_EQ(hash_bytes(big.data(), big.size(), 1), before);
  big.back() ^= 1;
  EXPECT_NE(hash_bytes(big.data(), big.size()), before);
  EXPECT_EQ(hash_bytes(nullptr, 0).size(), 32u);
}

TEST(Inputs, DefaultWeightsAreBoundedByTheFrameworksFanIn) {
  // Recorded PyTorch weights of these two layers reach 0.0559 and 0.1249.
  struct {
    const char* text;
    double bound;
  } cases[] = {{"conv_transpose1d 1x32x64 * 32x64x5 d3", 1 / std::sqrt(64.0 * 5)},
               {"conv2d 1x64x4x4 * 128x64x1x1", 0.125},
               {"conv2d 1x64x4x4 * 64x1x3x3 g64", 1.0 / 3},
               {"linear 4x100 * 7x100 bias", 0.1},
               {"gemm 4x25 * 25x4", 0.2}};
  for (const auto& [text, bound] : cases) {
    const Inputs inputs = make_inputs(parse_case(text));
    double largest = 0;
    for (const double w : values(inputs.b)) largest = std::max(largest, std::abs(w));
    EXPECT_LE(largest, bound * (1 + 0x1p-24)) << text;
    EXPECT_GT(largest, bound * 0.9) << text;
  }
}

TEST(Inputs, RangesAreHalfOpenInEveryFormat) {
  for (const char* type : {"fp64", "fp32", "fp16", "bf16"})
    for (const char* kind : {"uniform(-3,0.7)", "tf32(-3,0.7)", "uniform(5,5.5)", "uniform(-1,0)"}) {
      const Case c = parse_case(std::string("sum 20000 a=") + kind + " in=" + type);
      double lowest = 1e9, highest = -1e9;
      for (const double x : values(make_inputs(c).a)) {
        ASSERT_GE(x, c.fill_a.lo);
        ASSERT_LT(x, c.fill_a.hi) << kind << type;
        lowest = std::min(lowest, x);
        highest = std::max(highest, x);
      }
      const double range = c.fill_a.hi - c.fill_a.lo;
      EXPECT_LT(lowest, c.fill_a.lo + range * 0.02) << kind << type;
      EXPECT_GT(highest, c.fill_a.hi - range * 0.1) << kind << type;
    }
}

TEST(Inputs, IntegersAreAllOfThemAndNoOthers) {
  std::map<double, int> counts;
  for (const double x : values(make_inputs(parse_case("sum 7000 a=integers(-3,4)")).a)) ++counts[x];
  EXPECT_EQ(counts.size(), 7u);
  for (int i = -3; i < 4; ++i) EXPECT_NEAR(counts[i], 1000, 120) << i;
}

TEST(Inputs, Tf32ValuesHaveNoLowBits) {
  const Tensor t = make_inputs(parse_case("sum 5000 a=tf32")).a;
  std::set<std::uint32_t> distinct;
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const auto bits = static_cast<std::uint32_t>(t.view().bits_at(i));
    ASSERT_EQ(bits & 0x1fff, 0u);
    distinct.insert(bits);
  }
  EXPECT_GT(distinct.size(), 3000u);
}

TEST(Inputs, WideValuesCoverTheirExponents) {
  std::set<int> exponents;
  bool negative = false;
  for (const double x : values(make_inputs(parse_case("sum 5000 a=wide(-40,20)")).a)) {
    exponents.insert(std::ilogb(x));
    negative |= x < 0;
  }
  EXPECT_EQ(*exponents.begin(), -40);
  EXPECT_EQ(*exponents.rbegin(), 20);
  EXPECT_EQ(exponents.size(), 61u);
  EXPECT_TRUE(negative);
}

TEST(Inputs, SubnormalsAreSubnormal) {
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    Case c = parse_case("sum 3000 a=subnormal");
    c.in = type;
    for (const double x : values(make_inputs(c).a)) {
      ASSERT_NE(x, 0);
      ASSERT_LT(std::abs(x), std::ldexp(1.0, info(type).emin)) << name_of(type);
    }
  }
}

TEST(Inputs, SpecialValuesAreSprinkled) {
  int nan = 0, positive = 0, negative = 0, minus_zero = 0, largest = 0, ordinary = 0;
  for (const double x : values(make_inputs(parse_case("sum 90000 a=special(-1,1,0.1)")).a)) {
    nan += std::isnan(x);
    positive += x > 0 && std::isinf(x);
    negative += x < 0 && std::isinf(x);
    minus_zero += x == 0 && std::signbit(x);
    largest += std::abs(x) == 0x1.fffffep127;
    ordinary += std::abs(x) < 1 && std::abs(x) > 0x1p-30;
  }
  for (const int n : {nan, positive, negative, minus_zero}) EXPECT_NEAR(n, 1000, 130);
  EXPECT_NEAR(largest, 2000, 180);
  EXPECT_NEAR(ordinary, 81000, 400);
}

// ---- condition
// ---------------------------------------------------------------------------------------------

TEST(Inputs, ConditionIsAchievedForEveryOutput) {
  const char* problems[] = {"dot 1001 * 1001",
                            "dot 64 * 64",
                            "gemm 9x33 * 33x7",
                            "gemm 40x9 * 11x40 tA tB",
                            "gemm 2x5x30 * 2x30x6",
                            "linear 5x12 * 4x12",
                            "conv2d 2x6x5x7 * 4x6x1x1",
                            "conv2d 2x12x7x8 * 6x4x3x3 g3 p1 s2",
                            "conv_transpose1d 2x8x9 * 8x3x5 d3 s2 p1",
                            "conv1d_backward_input 2x6x9 * 6x3x3 p1 -> 9",
                            "conv1d_backward_weight 5x3x9 * 5x4x9 p1 -> 3",
                            "sum 500",
                            "mean 77"};
  for (const char* problem : problems)
    for (const double wanted : {100.0, 1e6, 1e12}) {
      Case c = parse_case(problem);
      c.fill_a = c.fill_b = default_fill("condition");
      c.fill_a.condition = c.fill_b.condition = wanted;
      const Inputs inputs = make_inputs(c);
      const Contraction contraction = lower(c.problem);
      for (std::int64_t o = 0; o < contraction.outputs(); ++o) {
        // Long doubles hold each product exactly, and the mirrored ones cancel exactly.
        long double sum = 0, magnitude = 0;
        std::vector<long double> terms;
        for (const Term& t : terms_of(contraction, o)) {
          const long double b = contraction.b_is_ones ? 1 : inputs.b.view().at(t.b);
          terms.push_back(inputs.a.view().at(t.a) * b);
        }
        std::sort(terms.begin(), terms.end(), [](auto x, auto y) { return std::abs(x) < std::abs(y); });
        for (const long double t : terms) magnitude += std::abs(t);
        for (std::size_t i = terms.size(); i-- > 0;) sum += terms[i];
        if (terms.empty()) continue;
        const auto achieved = static_cast<double>(magnitude / std::abs(sum));
        EXPECT_GT(achieved, wanted / 4) << problem << " output " << o;
        EXPECT_LT(achieved, wanted * 4) << problem << " output " << o;
      }
    }
}

TEST(Inputs, ConditionIsRefusedWhereItCannotBeGiven) {
  auto error = [](const std::string& text) {
    try {
      check_case(parse_case(text));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const std::string both = " a=condition(1000) b=condition(1000)";
  EXPECT_THAT(error("conv2d 1x4x9x9 * 4x1x3x3 g4" + both), HasSubstr("reduction axis of at least 3"));
  EXPECT_THAT(error("gemm 4x8 * 8x4 a=condition(1000)"), HasSubstr("same fill"));
  EXPECT_THAT(error("linear 4x8 * 4x8 bias=uniform" + both), HasSubstr("no bias"));
  EXPECT_EQ(error("linear 4x8 * 4x8 bias=zeros" + both), "accepted");
  EXPECT_THAT(error("dot 8 * 8 a=condition(1) b=condition(1)"), HasSubstr("greater than 1"));
  EXPECT_THAT(error("dot 8 * 8 a=condition(1e9) b=condition(1e9) in=fp16"), HasSubstr("out of reach"));
}

// ---- refusals
// ----------------------------------------------------------------------------------------------

TEST(Inputs, IntegersThatMightRoundAreRefused) {
  auto check = [](const std::string& text) { check_case(parse_case(text)); };
  EXPECT_THAT([&] { check("gemm 4x65536 * 65536x4 a=integers(-16,17) b=integers(-16,17)"); },
              ThrowsMessage<Error>(HasSubstr("16777216")));
  EXPECT_NO_THROW(check("gemm 4x65535 * 65535x4 a=integers(-16,17) b=integers(-16,17)"));
  EXPECT_THAT([&] { check("sum 10 a=integers(0,300)"); }, ThrowsMessage<Error>(HasSubstr("256")));
  EXPECT_THAT([&] { check("dot 10 * 10 a=integers b=uniform"); },
              ThrowsMessage<Error>(HasSubstr("only together")));
  EXPECT_THAT([&] { check("linear 4x8 * 4x8 bias a=integers b=integers"); },
              ThrowsMessage<Error>(HasSubstr("only together")));
  EXPECT_THAT([&] { check("dot 10 * 10 a=integers(0.5,3) b=ones"); },
              ThrowsMessage<Error>(HasSubstr("whole")));
}

TEST(Inputs, ParametersOutOfRangeAreRefused) {
  for (const char* fill :
       {"uniform(1,1)", "uniform(2,1)", "uniform(0,1e300)", "normal(0,0)", "normal(0,-1)", "wide(-200,0)",
        "wide(3,2)", "wide(0.5,2)", "special(-1,1,0)", "special(-1,1,0.9)", "integers(3,3)", "tf32(0,1e-30)"})
    EXPECT_THROW(check_case(parse_case(std::string("sum 10 a=") + fill)), Error) << fill;
}

}  // namespace
}  // namespace ulpscope
