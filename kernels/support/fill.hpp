#pragma once
// The values of every tensor of every case: element i of tensor t under a seed is a function of (seed, t, i)
// alone, the same bits on host and device. Philox gives two 64-bit words per counter; counter j serves the
// elements 2j and 2j + 1. harness/inputs.cpp makes FillParams from a case; cases/README.md says what the
// kinds mean.
#include "kernels/support/normal.hpp"
#include "kernels/support/philox.hpp"

namespace ulpscope {

enum class FillKind : std::int32_t {
  zeros,
  ones,
  uniform,
  normal,
  integers,
  tf32,
  wide,
  subnormal,
  special,
  cancel
};

/// Storage formats, numbered as DType is.
enum class FillFormat : std::int32_t { f64, f32, f16, bf16 };

inline constexpr int kSpecialValues = 9;

/// Plain data, fit for a kernel argument.
struct FillParams {
  FillKind kind = FillKind::zeros;
  FillFormat format = FillFormat::f32;
  std::int32_t precision = 24, emin = -126;  // of the format
  std::int32_t grid = 24;                    // uniform: bits of the random fraction
  double lo = 0, range = 1;                  // uniform, tf32, special's rest: lo + fraction * range, ...
  double top = 1;                            // ... but at most this: the largest number below hi
  double mean = 0, stddev = 1;               // normal
  std::uint32_t choices = 1;                 // integers: lo + [0, choices); wide: exponents likewise
  std::uint32_t special_threshold = 0;       // special: chance times 2^32
  std::uint64_t specials[kSpecialValues] = {};
  // cancel: along the reduction axis (index / stride) % size, positions [h, 2h) mirror [0, h), 2h holds
  // `last`, and what remains of an even size is zero; h = (size - 1) / 2.
  std::int64_t stride = 1, size = 1;
  double last = 1;
  std::int32_t negate = 0;  // the mirrored half has the other sign
};

struct FillKey {
  std::uint64_t seed = 0;
  std::uint32_t tensor = 0;  // 0: A, 1: B, 2: bias
};

struct FillWords {
  std::uint64_t first, second;
};

ULPSCOPE_HOST_DEVICE static inline FillWords fill_words(const FillKey& key, std::uint64_t pair) {
  const PhiloxState r =
      philox4x32({static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(pair >> 32), key.tensor, 0},
                 static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32));
  return {std::uint64_t{r.c0} << 32 | r.c1, std::uint64_t{r.c2} << 32 | r.c3};
}

/// Rounds a finite or infinite value once, to nearest even, to the format: right-aligned bits.
ULPSCOPE_HOST_DEVICE static inline std::uint64_t fill_round(const FillParams& p, double v) {
  if (p.format == FillFormat::f64) return double_to_bits(v);
  if (p.format == FillFormat::f32) return float_bits_rn(v);
  const std::uint64_t bits = double_to_bits(v);
  const std::uint64_t sign = bits >> 63 << 15;
  const int stored = p.precision - 1, exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const std::uint64_t infinity = (std::uint64_t{1} << 15) - (std::uint64_t{1} << stored);
  if (exponent == -1023) return sign;  // zero, or far below the format's smallest number
  const int below = exponent < p.emin ? p.emin - exponent : 0, shift = 52 - stored + below;
  if (shift > 63) return sign;
  const std::uint64_t significand = (bits & 0x000fffffffffffffu) | 0x0010000000000000u;
  const std::uint64_t half = std::uint64_t{1} << (shift - 1), rest = significand & (2 * half - 1);
  const std::uint64_t kept = significand >> shift;
  const std::uint64_t rounded = kept + (rest > half || (rest == half && (kept & 1)));
  // A carry out of the significand moves on into the exponent: to the next binade, to normal, to infinity.
  const std::uint64_t field = below ? 0 : static_cast<std::uint64_t>(exponent - p.emin) << stored;
  return sign | (field + rounded < infinity ? field + rounded : infinity);
}

ULPSCOPE_HOST_DEVICE static inline double uniform_value(const FillParams& p, std::uint64_t word) {
  const double fraction = rounded_mul(exact_double(word >> (64 - p.grid)),
                                      bits_to_double(static_cast<std::uint64_t>(1023 - p.grid) << 52));
  const double v = rounded_add(p.lo, rounded_mul(fraction, p.range)), top = p.top;
  return v < top ? v : top;
}

ULPSCOPE_HOST_DEVICE static inline double integer_value(const FillParams& p, std::uint64_t word) {
  return rounded_add(p.lo, exact_double((word >> 32) * p.choices >> 32));
}

/// A uniform value rounded to nearest even to TF32's 11 significant bits. Ranges keep it far from TF32's
/// subnormals.
ULPSCOPE_HOST_DEVICE static inline double tf32_value(const FillParams& p, std::uint64_t word) {
  constexpr int kDropped = 42;  // of a double's 52 fraction bits
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kDropped) - 1;
  const std::uint64_t bits = double_to_bits(uniform_value(p, word));
  const double v = bits_to_double((bits + (kMask >> 1) + (bits >> kDropped & 1)) & ~kMask), top = p.top;
  return v < top ? v : top;
}

/// Any exponent of the range, 31 random bits of significand cut to the format's, any sign.
ULPSCOPE_HOST_DEVICE static inline double wide_value(const FillParams& p, std::uint64_t word) {
  const double exponent = rounded_add(p.lo, exact_double((word >> 32) * p.choices >> 32));
  const std::uint64_t kept = p.precision > 32 ? ~std::uint64_t{0} : ~std::uint64_t{0} << (53 - p.precision);
  const std::uint64_t fraction = (word & 0x7fffffffu) << 21 & kept;
  const std::uint64_t biased = static_cast<std::uint64_t>(1023 + static_cast<int>(exponent));
  return bits_to_double((word >> 31 & 1) << 63 | biased << 52 | fraction);
}

ULPSCOPE_HOST_DEVICE static inline std::uint64_t subnormal_bits(const FillParams& p, std::uint64_t word) {
  const int width = p.format == FillFormat::f64 ? 64 : p.format == FillFormat::f32 ? 32 : 16;
  const std::uint64_t fraction = word >> (65 - p.precision);
  return (word & 1) << (width - 1) | (fraction ? fraction : 1);
}

/// Bits of one element whose kind needs one word.
ULPSCOPE_HOST_DEVICE static inline std::uint64_t word_bits(const FillParams& p, std::uint64_t word) {
  switch (p.kind) {
    case FillKind::ones:
      return fill_round(p, 1.0);
    case FillKind::uniform:
    case FillKind::cancel:
      return fill_round(p, uniform_value(p, word));
    case FillKind::integers:
      return fill_round(p, integer_value(p, word));
    case FillKind::tf32:
      return fill_round(p, tf32_value(p, word));
    case FillKind::wide:
      return fill_round(p, wide_value(p, word));
    case FillKind::subnormal:
      return subnormal_bits(p, word);
    case FillKind::special:
      if (static_cast<std::uint32_t>(word) < p.special_threshold)
        return p.specials[(word >> 32) * kSpecialValues >> 32];
      return fill_round(p, uniform_value(p, word));
    default:
      return 0;
  }
}

/// Right-aligned bits of element `index`.
ULPSCOPE_HOST_DEVICE static inline std::uint64_t fill_element(const FillParams& p, const FillKey& key,
                                                              std::uint64_t index) {
  std::uint64_t source = index;
  bool flip = false;
  if (p.kind == FillKind::cancel) {
    const auto stride = static_cast<std::uint64_t>(p.stride), size = static_cast<std::uint64_t>(p.size);
    const std::uint64_t half = (size - 1) / 2, at = index / stride % size;
    if (at >= 2 * half) return fill_round(p, at == 2 * half ? p.last : 0.0);
    if (at >= half) {
      source = index - half * stride;
      flip = p.negate != 0;
    }
  }
  const FillWords w = fill_words(key, source / 2);
  if (p.kind == FillKind::normal) {
    const NormalPair z = normal_pair(w.first, w.second);
    return fill_round(p, rounded_add(p.mean, rounded_mul(p.stddev, source % 2 ? z.second : z.first)));
  }
  const std::uint64_t word = source % 2 ? w.second : w.first;
  if (flip) return fill_round(p, -uniform_value(p, word));
  return word_bits(p, word);
}

}  // namespace ulpscope
