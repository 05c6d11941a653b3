#include "reference/arithmetic/block_step.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ulpscope {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UWide;

struct Unpacked {
  std::int64_t significand;  // signed, in units of 2^(exponent-23)
  int exponent;              // of a subnormal: emin of its format
};

Unpacked unpack(float x, int emin) {
  const auto u = std::bit_cast<std::uint32_t>(x);
  const int biased = static_cast<int>(u >> 23 & 0xff);
  std::int64_t s = u & 0x7fffff;
  int e = -126;
  if (biased > 0) {
    s |= 0x800000;
    e = biased - 127;
  }
  if (e < emin) {  // a subnormal of a narrower format, stored as a normal float
    s >>= std::min(emin - e, 63);
    e = emin;
  }
  return {u >> 31 ? -s : s, e};
}

// trunc(s * 2^shift), toward zero.
Wide shifted(std::int64_t s, int shift) {
  if (shift >= 0) return static_cast<Wide>(s) << shift;
  if (shift <= -63) return 0;
  return s < 0 ? -(-s >> -shift) : s >> -shift;
}

int bit_length(UWide v) {
  const auto high = static_cast<std::uint64_t>(v >> 64);
  return high ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(v));
}

// sum * 2^unit, rounded once to the accumulator's format.
float rounded(Wide sum, int unit, const BlockStep& step) {
  if (sum == 0) return 0.0f;
  const bool negative = sum < 0;
  UWide m = negative ? -static_cast<UWide>(sum) : static_cast<UWide>(sum);
  const FormatInfo& f = info(step.accumulator);
  const int exponent = bit_length(m) - 1 + unit;
  const int quantum = std::max(exponent, f.emin) - std::min(f.precision - 1, step.keep);
  const int drop = quantum - unit;
  int scale = unit;
  if (drop > 0) {
    const UWide kept = drop > 127 ? 0 : m >> drop;
    const UWide rest = drop > 127 ? m : m - (kept << drop);
    const UWide half = drop > 127 ? 0 : static_cast<UWide>(1) << (drop - 1);
    const bool up = step.rounding == StepRounding::rne && drop <= 127 &&
                    (rest > half || (rest == half && (kept & 1) != 0));
    m = kept + (up ? 1 : 0);
    scale = quantum;
  }
  const double value = std::ldexp(static_cast<double>(m), scale);  // at most 24 bits now: exact
  const double limit = std::ldexp(1.0, f.emax + 1);
  if (value == 0) return 0.0f;  // also of a negative sum: hardware never writes -0
  const double result = value >= limit ? HUGE_VAL : value;
  return static_cast<float>(negative ? -result : result);
}

}  // namespace

float block_step(const BlockStep& step, OperandFormat format_a, OperandFormat format_b, const float* a,
                 const float* b, int n, float c) {
  const float nan = std::bit_cast<float>(kCanonicalNan);
  bool plus_inf = false, minus_inf = false;
  auto special = [&](float v) {
    if (std::isnan(v)) return true;
    if (std::isinf(v)) (v > 0 ? plus_inf : minus_inf) = true;
    return false;
  };
  if (special(c)) return nan;
  for (int i = 0; i < n; ++i) {
    // The exact product of finite operands is finite, whatever its size; only operands make specials.
    if (std::isfinite(a[i]) && std::isfinite(b[i])) continue;
    if (special(a[i] * b[i])) return nan;
  }
  if (plus_inf && minus_inf) return nan;
  if (plus_inf || minus_inf)
    return plus_inf ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();

  const int emin_a = info(format_a).emin, emin_b = info(format_b).emin;
  const Unpacked acc = unpack(c, info(step.accumulator).emin);
  int largest = step.floor;
  if (acc.significand != 0) largest = std::max(largest, acc.exponent);
  for (int i = 0; i < n; ++i)
    if (a[i] != 0 && b[i] != 0)
      largest = std::max(largest, unpack(a[i], emin_a).exponent + unpack(b[i], emin_b).exponent);

  const int unit = largest - step.frac;
  Wide sum = shifted(acc.significand, acc.exponent - 23 - unit);
  for (int i = 0; i < n; ++i) {
    if (a[i] == 0 || b[i] == 0) continue;
    const Unpacked x = unpack(a[i], emin_a), y = unpack(b[i], emin_b);
    sum += shifted(x.significand * y.significand, x.exponent + y.exponent - 46 - unit);
  }
  return rounded(sum, unit, step);
}

}  // namespace ulpscope
