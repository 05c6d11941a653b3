#pragma once
// Powers of two around a number, by its bits: the loops over terms need them more than anything else.
#include <bit>
#include <cmath>
#include <cstdint>

namespace ulpscope {

/// 2^floor(log2|x|) for normal doubles; 0 for 0 (and for doubles below 2^-1022, which no operand here
/// produces).
inline double binade(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000u);
}

/// The largest power of two that x is a multiple of (infinity for 0).
inline double grain_of(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x) & 0x7fffffffffffffffu;
  if (bits == 0) return HUGE_VAL;
  const int trailing = std::countr_zero(bits | 0x0010000000000000u);
  const auto exponent = static_cast<std::int64_t>(bits >> 52) - (52 - trailing);
  return exponent > 0 ? std::bit_cast<double>(static_cast<std::uint64_t>(exponent) << 52) : 0;
}

/// Spacing of a binary format around x: 2^(max(floor(log2|x|), emin) - (precision - 1)), and where it ends.
struct Spacing {
  double relative, least, largest;
  Spacing(int precision, int emin, int emax)
      : relative(std::ldexp(1.0, 1 - precision)),
        least(std::ldexp(1.0, emin + 1 - precision)),
        largest(std::ldexp(2 - std::ldexp(1.0, 1 - precision), emax)) {}
  double at(double x) const {
    const double q = binade(x) * relative;
    return q > least ? q : least;
  }
};

}  // namespace ulpscope
