// Bounds hold: replayed results against MPFR, on data made to hurt. And they are not idle: some data come
// close.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>

#include "reference/operators.hpp"
#include "reference/plan.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/testing/random_plan.hpp"

namespace ulpscope {
namespace {

struct Setting {
  Contraction c;
  Tensor a, b, bias;
  Operands operands;
};

Setting linear(std::int64_t k, bool bias, unsigned seed, int kind) {
  Problem p;
  p.params.op = "linear";
  p.params.bias = bias;
  p.a = {2, k};
  p.b = {3, k};
  Setting s;
  s.c = lower(p);
  s.a = testing::random_tensor(p.a, seed, kind);
  s.b = testing::random_tensor(p.b, seed + 1, kind);
  s.operands = {s.a.view(), s.b.view(), {}};
  if (bias) {
    s.bias = testing::random_tensor({3}, seed + 2, kind);
    s.operands.bias = s.bias.view();
  }
  return s;
}

struct Truth {
  double error, magnitude;
};

// |result - true| rounded up, and S rounded up.
Truth judge(const Setting& s, std::int64_t o, double result) {
  mpfr_t sum, magnitude, t;
  mpfr_inits2(2000, sum, magnitude, t, nullptr);
  mpfr_set_zero(sum, 1);
  mpfr_set_zero(magnitude, 1);
  auto add = [&](double a, double b) {
    mpfr_set_d(t, a, MPFR_RNDN);
    mpfr_mul_d(t, t, b, MPFR_RNDN);
    mpfr_add(sum, sum, t, MPFR_RNDN);
    mpfr_abs(t, t, MPFR_RNDN);
    mpfr_add(magnitude, magnitude, t, MPFR_RNDN);
  };
  for (const Term& term : terms_of(s.c, o)) add(s.operands.a.at(term.a), s.operands.b.at(term.b));
  if (s.c.has_bias) add(s.operands.bias.at(bias_index(s.c, o)), 1);
  mpfr_sub_d(sum, sum, result, MPFR_RNDN);
  mpfr_abs(sum, sum, MPFR_RNDN);
  const Truth truth{mpfr_get_d(sum, MPFR_RNDU), mpfr_get_d(magnitude, MPFR_RNDU)};
  mpfr_clears(sum, magnitude, t, nullptr);
  return truth;
}

// Largest error/bound over the outputs; checks that it is at most one.
double headroom(const Plan& plan, const Setting& s) {
  const PlanBound bound = bound_of(plan, s.c, s.operands, 1);
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(s.c.outputs()));
  replay(plan, s.c, s.operands, 0, s.c.outputs(), bits.data(), 1);
  double worst = 0;
  for (std::int64_t o = 0; o < s.c.outputs(); ++o) {
    const double result = value_of_bits(output_format(plan), bits[static_cast<std::size_t>(o)]);
    const Truth truth = judge(s, o, result);
    const double allowed = bound.at(truth.magnitude);
    if (std::isinf(allowed)) continue;
    EXPECT_TRUE(std::isfinite(result)) << to_string(plan);
    EXPECT_LE(truth.error, allowed) << to_string(plan) << " by " << bound.formula;
    if (allowed > 0) worst = std::max(worst, truth.error / allowed);
  }
  return worst;
}

TEST(Bound, HoldsForRandomPlansAndData) {
  testing::RandomPlans random(31);
  int finite = 0;
  for (unsigned i = 0; i < 900; ++i) {
    const std::int64_t k = 1 + random.below(120);
    constexpr int kKinds[] = {0, 1, 2, 4, 5};
    const Setting s = linear(k, i % 3 == 0, i, kKinds[i % 5]);
    Plan plan = random({{"k", k}});
    plan.alpha.reset();
    plan.beta.reset();
    finite += headroom(plan, s) > 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(finite, 500);
}

// Each addition loses nearly half a unit in the last place, always downwards.
Setting hurtful(std::int64_t k, double tail) {
  Setting s = linear(k, false, 1, 4);
  for (std::int64_t i = 0; i < 2 * k; ++i) s.a.as<float>()[i] = 1;
  for (std::int64_t i = 0; i < 3 * k; ++i) s.b.as<float>()[i] = i % k == 0 ? 1.0f : static_cast<float>(tail);
  return s;
}

TEST(Bound, IsNearlyReached) {
  EXPECT_GT(headroom(*parse_plan("fp32 | fma"), hurtful(1000, 0x1.fffffep-25)), 0.95);
  // The bound allows for every product truncated at the largest exponent and for the sum; here both happen in
  // every step.
  EXPECT_GT(headroom(*parse_plan("fp32 | block 8 frac 25 rz"), hurtful(1001, 0x1.fffffep-26)), 0.6);
  EXPECT_GT(headroom(*parse_plan("fp16 | fma fp16 | out fp16"), hurtful(40, 0x1.ffcp-12)), 0.9);
  EXPECT_GT(headroom(*parse_plan("tf32_rz | fma"), hurtful(3, 1.0 + 0x1.fffp-11)), 0.6);
}

TEST(Bound, KnownFormulas) {
  const Setting s = linear(100, false, 5, 1);
  auto per_s = [&](const char* text) { return bound_of(*parse_plan(text), s.c, s.operands, 1).per_s; };
  const double u = 0x1p-24;
  EXPECT_NEAR(per_s("fp32 | fma"), 100 * u, 1e-3 * u);
  EXPECT_NEAR(per_s("fp32 | fma | split 4"), 28 * u, 0.01 * u);
  EXPECT_NEAR(per_s("fp32 | fma | pairwise"), 8 * u, 0.01 * u);
  EXPECT_NEAR(per_s("fp32 | kahan"), 4 * u, 0.01 * u);
  // 13 steps of 8 products: (n*2^-25 + 13*2^-23) S, places of a short last step included.
  EXPECT_NEAR(per_s("tf32_rz | block 8 frac 25 rz") - (2 * 0x1p-10 + 0x1p-20), 104 * 0x1p-25 + 13 * 0x1p-23,
              2e-2 * 0x1p-17);
  EXPECT_NEAR(per_s("tf32_rne | fma fp64"), 2 * 0x1p-11 + 0x1p-22, 2 * u);
  EXPECT_LT(per_s("tf32_rna passes lo*hi hi*lo hi*hi | fma"), 400 * u);
}

TEST(Bound, ShorteningCostsNothingWhereNothingIsLost) {
  const Setting s = linear(64, false, 6, 4);  // small integers
  EXPECT_EQ(bound_of(*parse_plan("tf32_rz | fma"), s.c, s.operands).per_s,
            bound_of(*parse_plan("fp32 | fma"), s.c, s.operands).per_s);
}

// Small integers: where every format of a plan holds all their sums nothing may be off, in any order; and
// the replay, of random plans, is not.
TEST(Bound, IsZeroWhereEverySumIsExact) {
  testing::RandomPlans random(32);
  int exact = 0, rounded = 0;
  for (unsigned i = 0; i < 600; ++i) {
    const std::int64_t k = 1 + random.below(200);
    const Setting s = linear(k, i % 3 == 0, i, 4);
    Plan plan = random({{"k", k}});
    plan.alpha.reset();
    plan.beta.reset();
    const PlanBound bound = bound_of(plan, s.c, s.operands, 1);
    (bound.per_s == 0 && bound.absolute == 0 ? exact : rounded)++;
    EXPECT_EQ(headroom(plan, s) > 0 && bound.per_s == 0, false) << to_string(plan);  // holds, by MPFR
    if (HasFailure()) return;
  }
  EXPECT_GT(exact, 250);
  EXPECT_GT(rounded, 100);  // 16-bit sums and outputs
}

TEST(Bound, IsZeroOnlyUpToTheLastExactSum) {
  // 2^12 products of 2^6 * 2^6 sum to 2^24, which fp32 still holds to the unit; one more may not.
  auto bound = [](const char* plan, std::int64_t k, float largest, float last, bool bias = false) {
    Setting s = linear(k, bias, 1, 4);
    for (std::int64_t i = 0; i < 2 * k; ++i) s.a.as<float>()[i] = i == 0 ? last : largest;
    for (std::int64_t i = 0; i < 3 * k; ++i) s.b.as<float>()[i] = i == 0 ? last : largest;
    return bound_of(*parse_plan(plan), s.c, s.operands, 1).per_s;
  };
  EXPECT_EQ(bound("fp32 | fma", 4096, 64, 1), 0);
  EXPECT_GT(bound("fp32 | fma", 4097, 64, 1), 0);
  EXPECT_EQ(bound("fp32 | fma", 4097, 64, 64), 0);  // multiples of 2^12
  EXPECT_GT(bound("fp32 | fma", 4096, 64, 0.5f), 0);
  EXPECT_EQ(bound("fp32 | fma", 1024, 64, 0.5f), 0);  // multiples of 1/4 up to 2^22
  EXPECT_EQ(bound("tf32_rz | block 8 frac 24 rz", 4096, 64, 1), 0);
  EXPECT_GT(bound("tf32_rz | block 8 frac 23 rz", 4096, 64, 1), 0);  // loses bits below 2^(e - 23)
  EXPECT_GT(bound("tf32_rz | fma", 3, 2049, 2049), 0);               // 12 bits: shortened
  EXPECT_EQ(bound("fp32 | fma | split 2 seq as bf16", 4, 8, 1), 0);
  EXPECT_GT(bound("fp32 | fma | split 2 seq as bf16", 8, 8, 1), 0);  // 8 bits hold sums up to 256
  EXPECT_EQ(bound("fp32 | fma | out fp16", 32, 8, 1), 0);
  EXPECT_GT(bound("fp32 | fma | out fp16", 64, 8, 1), 0);
  EXPECT_GT(bound("fp32 | fma", 4096, 64, 1, true), 0);  // the bias goes beyond it
}

TEST(Bound, NoBoundWhereSumsMayOverflow) {
  const Setting s = linear(4, false, 7, 0);
  const PlanBound b = bound_of(*parse_plan("fp32 | fma fp16"), s.c, s.operands);
  EXPECT_TRUE(std::isfinite(b.at(60000)));
  EXPECT_TRUE(std::isinf(b.at(70000)));
  EXPECT_TRUE(std::isinf(b.at(std::nan(""))));
  Setting big = linear(4, false, 7, 0);
  big.a.as<float>()[0] = 1e6f;
  EXPECT_TRUE(std::isinf(bound_of(*parse_plan("fp16 | fma"), big.c, big.operands).at(1)));
}

}  // namespace
}  // namespace ulpscope
