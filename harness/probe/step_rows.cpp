#include "harness/probe/step_rows.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace ulpscope {
namespace {

DType storage_of(MmaKind kind) {
  if (kind == MmaKind::tf32_f32) return DType::f32;
  return kind == MmaKind::bf16_f32 ? DType::bf16 : DType::f16;
}

std::uint32_t bits_of(DType type, float x) {
  return static_cast<std::uint32_t>(round_to_bits(type, static_cast<double>(x)));
}

float value_of(DType type, std::uint32_t bits) {
  return static_cast<float>(value_of_bits(type, bits));
}

class RandomRows {
 public:
  RandomRows(MmaKind kind, std::uint64_t seed)
      : half_(storage_of(kind) == DType::f16), half_out_(accumulator_of(kind) == DType::f16), rng_(seed) {}

  StepRow row(std::size_t k, std::int64_t number) {
    StepRow r{std::vector<float>(k), std::vector<float>(k), 0};
    const int wide = half_ ? 7 : 20;
    switch (number % 5) {
      case 0:  // exponents near each other
        fill(r, -1, 1);
        r.c = number_in(-2, 2);
        break;
      case 1:  // far apart
        fill(r, -wide, half_out_ ? 3 : wide);
        r.c = number_in(-wide, half_out_ ? 6 : wide);
        break;
      case 2:  // products and sums below the normal range
        if (half_) {
          fill(r, -24, -8);
          r.c = half_out_ ? number_in(-24, -14) : number_in(-149, -120);
        } else {
          fill(r, -78, -62);
          r.c = number_in(-149, -126);
        }
        break;
      case 3:  // cancellation: what is left depends on the last kept bit
        fill(r, -3, 3);
        for (std::size_t i = 0; i + 1 < k; i += 2)
          if (pick(4) != 0) r.a[i + 1] = -r.a[i], r.b[i + 1] = r.b[i];
        r.c = number_in(-12, 3);
        break;
      default:
        fill(r, -2, 2);
        r.c = number_in(-2, 2);
        for (std::size_t i = 0; i < k; ++i) special(r.a[i]), special(r.b[i]);
        special(r.c);
    }
    if (pick(8) == 0) r.c = 0;
    return r;
  }

 private:
  std::uint64_t pick(std::uint64_t n) { return rng_() % n; }
  float number_in(int low, int high) {
    const auto range = static_cast<std::uint64_t>(high - low + 1);
    const float significand = 1 + static_cast<float>(rng_() >> 41) * 0x1p-23f;
    return std::ldexp(pick(2) ? significand : -significand, low + static_cast<int>(pick(range)));
  }
  void fill(StepRow& r, int low, int high) {
    for (float& x : r.a) x = number_in(low, high);
    for (float& x : r.b) x = number_in(low, high);
  }
  void special(float& x) {
    if (pick(24) != 0) return;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float choices[] = {0.0f, -0.0f, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
    x = choices[pick(5)];
  }

  bool half_, half_out_;
  std::mt19937_64 rng_;
};

}  // namespace

OperandFormat operand_of(MmaKind kind) {
  if (kind == MmaKind::tf32_f32) return OperandFormat::tf32_rz;
  return kind == MmaKind::bf16_f32 ? OperandFormat::bf16 : OperandFormat::fp16;
}

DType accumulator_of(MmaKind kind) {
  return kind == MmaKind::f16_f16 ? DType::f16 : DType::f32;
}

void put_power(StepRow& row, std::size_t k, int exponent, float sign) {
  const int half = exponent / 2;
  row.a[k] = std::ldexp(sign, half);
  row.b[k] = std::ldexp(1.0f, exponent - half);
}

StepBits encode(MmaKind kind, const std::vector<StepRow>& rows) {
  const DType in = storage_of(kind), acc = accumulator_of(kind);
  StepBits bits;
  for (const StepRow& row : rows) {
    for (const float x : row.a) bits.a.push_back(bits_of(in, x));
    for (const float x : row.b) bits.b.push_back(bits_of(in, x));
    bits.c.push_back(bits_of(acc, row.c));
  }
  return bits;
}

std::uint32_t replay_row(MmaKind kind, const BlockStep& step, const StepBits& bits, std::int64_t row) {
  const DType in = storage_of(kind), acc = accumulator_of(kind);
  const OperandFormat format = operand_of(kind);
  const int k = mma_k(kind);
  std::vector<float> a(static_cast<std::size_t>(k)), b(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto at = static_cast<std::size_t>(row * k) + i;
    a[i] = shorten(format, value_of(in, bits.a[at]));
    b[i] = shorten(format, value_of(in, bits.b[at]));
  }
  float sum = value_of(acc, bits.c[static_cast<std::size_t>(row)]);
  for (int from = 0; from < k; from += step.terms)
    sum = block_step(step, format, format, a.data() + from, b.data() + from, std::min(step.terms, k - from),
                     sum);
  return bits_of(acc, sum);
}

std::vector<StepRow> random_rows(MmaKind kind, std::int64_t count, std::uint64_t seed) {
  RandomRows random(kind, seed);
  std::vector<StepRow> rows;
  for (std::int64_t i = 0; i < count; ++i)
    rows.push_back(random.row(static_cast<std::size_t>(mma_k(kind)), i));
  return rows;
}

}  // namespace ulpscope
