#include "reference/arithmetic/block_step.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "reference/arithmetic/architectures.hpp"
#include "reference/testing/recorded.hpp"

namespace ulpscope {
namespace {

using testing::recorded_array;

std::uint32_t bits(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
bool same(float x, float y) {
  return bits(x) == bits(y) || (std::isnan(x) && std::isnan(y));
}

struct Recording {
  const char* file;
  OperandFormat format;
  DType storage;
  DType accumulator = DType::f32;
};

class RecordedMma : public ::testing::TestWithParam<Recording> {};
INSTANTIATE_TEST_SUITE_P(H200, RecordedMma,
                         ::testing::Values(Recording{"mma_tf32", OperandFormat::tf32_rz, DType::f32},
                                           Recording{"mma_bf16", OperandFormat::bf16, DType::bf16},
                                           Recording{"mma_f16", OperandFormat::fp16, DType::f16}),
                         [](auto& p) { return std::string(p.param.file); });

class RecordedEdges : public ::testing::TestWithParam<Recording> {};
INSTANTIATE_TEST_SUITE_P(H200, RecordedEdges,
                         ::testing::Values(Recording{"mma-h200/mma_tf32", OperandFormat::tf32_rz, DType::f32},
                                           Recording{"mma-h200/mma_bf16", OperandFormat::bf16, DType::bf16},
                                           Recording{"mma-h200/mma_f16", OperandFormat::fp16, DType::f16},
                                           Recording{"mma-h200/mma_f16acc16", OperandFormat::fp16, DType::f16,
                                                     DType::f16}),
                         [](auto& p) { return std::string(p.param.file).substr(9); });

std::vector<float> operands(const testing::RawArray& raw, DType storage, OperandFormat format) {
  std::vector<float> v(static_cast<std::size_t>(elements(raw.shape)));
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::uint64_t b = storage == DType::f32 ? raw.as<std::uint32_t>()[i] : raw.as<std::uint16_t>()[i];
    const float x =
        storage == DType::f32 ? raw.as<float>()[i] : static_cast<float>(value_of_bits(storage, b));
    v[i] = shorten(format, x);
  }
  return v;
}

// Rows of one recording that a step reproduces, of each kind.
std::vector<int> reproduced(const Recording& r, const BlockStep& step, std::vector<int>* total) {
  const auto a_raw = recorded_array(r.file, "a"), c = recorded_array(r.file, "c"),
             d = recorded_array(r.file, "d");
  const auto kind = recorded_array(r.file, "kind");
  const auto a = operands(a_raw, r.storage, r.format);
  const auto b = operands(recorded_array(r.file, "b"), r.storage, r.format);
  const int k = static_cast<int>(a_raw.shape[1]);
  std::vector<int> good(9);
  if (total) total->assign(9, 0);
  const bool half = r.accumulator == DType::f16;
  const auto result = [&](const testing::RawArray& raw, std::int64_t row) {
    return half ? static_cast<float>(value_of_bits(DType::f16, raw.as<std::uint16_t>()[row]))
                : raw.as<float>()[row];
  };
  for (std::int64_t row = 0; row < a_raw.shape[0]; ++row) {
    float acc = result(c, row);
    for (int from = 0; from < k; from += step.terms)
      acc = block_step(step, r.format, r.format, &a[static_cast<std::size_t>(row * k + from)],
                       &b[static_cast<std::size_t>(row * k + from)], std::min(step.terms, k - from), acc);
    const std::size_t which = kind.as<std::uint8_t>()[row];
    good[which] += same(acc, result(d, row));
    if (total) ++(*total)[which];
  }
  return good;
}

TEST_P(RecordedMma, EveryRowBitForBit) {
  const TensorCore* core = find_tensor_core(90, GetParam().format);
  ASSERT_NE(core, nullptr);
  std::vector<int> total;
  const std::vector<int> good = reproduced(GetParam(), core->step, &total);
  EXPECT_EQ(total, (std::vector<int>{3072, 3072, 3072, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(good, total);
}

// Below 2^-126, zeros of either sign, NaN whose payload the instruction drops, overflow.
TEST_P(RecordedEdges, EveryRowBitForBit) {
  const TensorCore* core = find_tensor_core(90, GetParam().format, GetParam().accumulator);
  ASSERT_NE(core, nullptr);
  std::vector<int> total;
  const std::vector<int> good = reproduced(GetParam(), core->step, &total);
  EXPECT_EQ(total, (std::vector<int>{0, 0, 0, 512, 512, 512, 512, 512, 512}));
  EXPECT_EQ(good, total);
  BlockStep wrong = core->step;
  wrong.floor = -126;
  if (GetParam().format != OperandFormat::fp16) {
    EXPECT_NE(reproduced(GetParam(), wrong, nullptr), total);
  }
}

TEST_P(RecordedMma, WrongParametersFail) {
  const BlockStep right = find_tensor_core(90, GetParam().format)->step;
  std::vector<int> total;
  for (BlockStep wrong : {BlockStep{right.terms / 2, 25}, BlockStep{right.terms, 24},
                          BlockStep{right.terms, 26}, BlockStep{right.terms, 25, StepRounding::rne},
                          BlockStep{right.terms, 25, StepRounding::rz, -133, 22}}) {
    const std::vector<int> good = reproduced(GetParam(), wrong, &total);
    EXPECT_LT(good[0] + good[1] + good[2], total[0] + total[1] + total[2] - 100)
        << wrong.terms << " " << wrong.frac << " " << wrong.keep;
  }
}

// Independent witness: each term aligned and truncated in MPFR, as the rule is written down.
class Real {
 public:
  explicit Real(double v = 0) {
    mpfr_init2(m, 600);
    mpfr_set_d(m, v, MPFR_RNDN);
  }
  Real(const Real& o) {
    mpfr_init2(m, 600);
    mpfr_set(m, o.m, MPFR_RNDN);
  }
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(m); }
  mpfr_t m;
};

int exponent_in(float x, int emin) {
  return std::max(std::ilogb(x), emin);
}

float by_mpfr(const BlockStep& s, OperandFormat f, const std::vector<float>& a, const std::vector<float>& b,
              float c) {
  const int emin = info(f).emin;
  int top = s.floor;
  if (c != 0) top = std::max(top, exponent_in(c, info(s.accumulator).emin));
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != 0 && b[i] != 0) top = std::max(top, exponent_in(a[i], emin) + exponent_in(b[i], emin));
  Real sum, t;
  auto add = [&](double v) {
    mpfr_set_d(t.m, v, MPFR_RNDN);
    mpfr_mul_2si(t.m, t.m, s.frac - top, MPFR_RNDN);
    mpfr_trunc(t.m, t.m);
    mpfr_add(sum.m, sum.m, t.m, MPFR_RNDN);
  };
  add(static_cast<double>(c));
  for (std::size_t i = 0; i < a.size(); ++i) add(static_cast<double>(a[i]) * static_cast<double>(b[i]));
  mpfr_mul_2si(sum.m, sum.m, top - s.frac, MPFR_RNDN);
  if (mpfr_zero_p(sum.m)) return 0;
  const FormatInfo& out = info(s.accumulator);
  const int e = std::max(static_cast<int>(mpfr_get_exp(sum.m)) - 1, out.emin);
  const int quantum = e - std::min(out.precision - 1, s.keep);
  mpfr_mul_2si(sum.m, sum.m, -quantum, MPFR_RNDN);
  if (s.rounding == StepRounding::rz)
    mpfr_trunc(sum.m, sum.m);
  else
    mpfr_roundeven(sum.m, sum.m);
  mpfr_mul_2si(sum.m, sum.m, quantum, MPFR_RNDN);
  const double v = mpfr_get_d(sum.m, MPFR_RNDN);
  if (v == 0) return 0;
  return std::fabs(v) >= std::ldexp(1.0, out.emax + 1) ? std::copysign(HUGE_VALF, static_cast<float>(v))
                                                       : static_cast<float>(v);
}

TEST(BlockStep, AgreesWithMpfrForEveryArchitecture) {
  std::mt19937 rng(3);
  for (const TensorCore& core : tensor_cores()) {
    for (int n = 0; n < 4000; ++n) {
      const int spread = 1 + static_cast<int>(rng() % 60);
      auto random = [&](OperandFormat f, int centre) {
        const int e = centre + static_cast<int>(rng() % static_cast<unsigned>(spread));
        const float m = 1 + static_cast<float>(rng() >> 9) * 0x1p-23f;
        const float x = std::ldexp(rng() & 1 ? m : -m, e);
        return rng() % 16 ? shorten(f, x) : 0.0f;
      };
      const int low = n % 4 == 0 ? info(core.operand).emin - 4 : std::max(-30, info(core.operand).emin);
      const int high = n % 8 == 0 ? -info(core.operand).emin - 70 : -spread / 2;
      std::vector<float> a(static_cast<std::size_t>(core.step.terms)), b(a.size());
      for (float& x : a) x = random(core.operand, low);
      for (float& x : b) x = random(core.operand, n % 4 == 0 ? low + static_cast<int>(rng() % 40) : high);
      float c = random(OperandFormat::fp32, low + high + static_cast<int>(rng() % 20));
      if (core.step.accumulator == DType::f16) c = shorten(OperandFormat::fp16, c);
      if (!std::isfinite(c) || std::any_of(a.begin(), a.end(), [](float x) { return !std::isfinite(x); }) ||
          std::any_of(b.begin(), b.end(), [](float x) { return !std::isfinite(x); }))
        continue;
      const float ours =
          block_step(core.step, core.operand, core.operand, a.data(), b.data(), core.step.terms, c);
      ASSERT_EQ(bits(ours), bits(by_mpfr(core.step, core.operand, a, b, c)))
          << core.architecture << " " << info(core.operand).name << " row " << n;
    }
  }
}

TEST(BlockStep, SpecialValues) {
  const BlockStep s;
  const float inf = HUGE_VALF, nan = std::bit_cast<float>(0x7f800001u);
  auto step = [&](std::vector<float> a, std::vector<float> b, float c) {
    return block_step(s, OperandFormat::tf32_rz, OperandFormat::tf32_rz, a.data(), b.data(),
                      static_cast<int>(a.size()), c);
  };
  EXPECT_EQ(bits(step({nan}, {1}, 0)), kCanonicalNan);
  EXPECT_EQ(bits(step({1}, {1}, nan)), kCanonicalNan);
  EXPECT_EQ(bits(step({inf, 1}, {0, 1}, 0)), kCanonicalNan);
  EXPECT_EQ(bits(step({inf, -inf}, {1, 1}, 0)), kCanonicalNan);
  EXPECT_EQ(bits(step({inf}, {1}, -inf)), kCanonicalNan);
  EXPECT_EQ(step({-inf, 1}, {2, 1}, 3), -inf);
  EXPECT_EQ(step({inf}, {-0x1p-149f}, 3), -inf);
  // The exact product of finite operands is no special value, even beyond the largest float.
  EXPECT_EQ(step({0x1p100f, 0x1p100f}, {0x1p100f, -0x1p100f}, 3), 0.0f);
  EXPECT_EQ(step({0x1p100f}, {0x1p100f}, 0), inf);
  EXPECT_EQ(bits(step({-0.0f}, {1}, -0.0f)), 0u);
  EXPECT_EQ(bits(step({}, {}, 0)), 0u);
}

TEST(Architectures, TableKnowsTheChips) {
  EXPECT_EQ(find_tensor_core(90, OperandFormat::tf32_rna)->step.terms, 8);
  EXPECT_EQ(find_tensor_core(80, OperandFormat::tf32_rne)->step.frac, 24);
  EXPECT_EQ(find_tensor_core(86, OperandFormat::bf16)->step.terms, 8);
  EXPECT_EQ(find_tensor_core(70, OperandFormat::tf32_rne), nullptr);
  EXPECT_EQ(find_tensor_core(90, OperandFormat::fp8_e4m3)->step.keep, 13);
  EXPECT_EQ(find_tensor_core(90, OperandFormat::fp16, DType::f16)->step.rounding, StepRounding::rne);
}

}  // namespace
}  // namespace ulpscope
