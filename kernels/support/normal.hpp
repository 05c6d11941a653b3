#pragma once
// Two independent standard normal numbers from 128 random bits by Box and Muller's transform,
//   sqrt(-2 ln u) * (cos t, sin t),
// with logarithm, cosine and sine as Taylor polynomials of IEEE additions, multiplications, divisions and
// square roots, each rounded to nearest: libm and CUDA's functions differ in their last bits, these do not.
// No branches, so loops over it vectorise.
#include "kernels/support/rounded.hpp"

namespace ulpscope {

struct NormalPair {
  double first, second;
};

/// ln x for a normal double x > 0. x = m * 2^e with m in [sqrt(1/2), sqrt(2)] and
/// ln m = 2 artanh s, s = (m - 1)/(m + 1), |s| <= 0.1716: the series in s^2 <= 0.0295 is cut where its terms
/// fall below 2^-56.
ULPSCOPE_HOST_DEVICE static inline double portable_log(double x) {
  constexpr std::uint64_t kFraction = 0x000fffffffffffffu, kOne = 0x3ff0000000000000u;
  const std::uint64_t bits = double_to_bits(x);
  const double m = bits_to_double((bits & kFraction) | kOne);  // [1, 2)
  const bool halve = m > 0x1.6a09e667f3bcdp0;                  // sqrt(2)
  const double scaled = rounded_mul(m, halve ? 0.5 : 1.0);
  const double e = rounded_add(exact_double(bits >> 52), halve ? -1022.0 : -1023.0);
  const double s = rounded_div(rounded_add(scaled, -1.0), rounded_add(scaled, 1.0));
  const double z = rounded_mul(s, s);
  double p = 1.0 / 21;
  p = rounded_add(rounded_mul(p, z), 1.0 / 19);
  p = rounded_add(rounded_mul(p, z), 1.0 / 17);
  p = rounded_add(rounded_mul(p, z), 1.0 / 15);
  p = rounded_add(rounded_mul(p, z), 1.0 / 13);
  p = rounded_add(rounded_mul(p, z), 1.0 / 11);
  p = rounded_add(rounded_mul(p, z), 1.0 / 9);
  p = rounded_add(rounded_mul(p, z), 1.0 / 7);
  p = rounded_add(rounded_mul(p, z), 1.0 / 5);
  p = rounded_add(rounded_mul(p, z), 1.0 / 3);
  p = rounded_add(rounded_mul(p, z), 1.0);
  const double log_m = rounded_mul(rounded_add(s, s), p);
  return rounded_add(rounded_mul(e, 0x1.62e42fefa39efp-1), log_m);  // ln 2
}

/// sin t for |t| <= pi/4: terms up to t^17/17! (2^-56 of t).
ULPSCOPE_HOST_DEVICE static inline double portable_sin(double t) {
  const double z = rounded_mul(t, t);
  double p = 1.0 / 355687428096000;  // 1/17!
  p = rounded_add(rounded_mul(p, z), -1.0 / 1307674368000);
  p = rounded_add(rounded_mul(p, z), 1.0 / 6227020800);
  p = rounded_add(rounded_mul(p, z), -1.0 / 39916800);
  p = rounded_add(rounded_mul(p, z), 1.0 / 362880);
  p = rounded_add(rounded_mul(p, z), -1.0 / 5040);
  p = rounded_add(rounded_mul(p, z), 1.0 / 120);
  p = rounded_add(rounded_mul(p, z), -1.0 / 6);
  p = rounded_add(rounded_mul(p, z), 1.0);
  return rounded_mul(p, t);
}

/// cos t for |t| <= pi/4: terms up to t^16/16!.
ULPSCOPE_HOST_DEVICE static inline double portable_cos(double t) {
  const double z = rounded_mul(t, t);
  double p = 1.0 / 20922789888000;  // 1/16!
  p = rounded_add(rounded_mul(p, z), -1.0 / 87178291200);
  p = rounded_add(rounded_mul(p, z), 1.0 / 479001600);
  p = rounded_add(rounded_mul(p, z), -1.0 / 3628800);
  p = rounded_add(rounded_mul(p, z), 1.0 / 40320);
  p = rounded_add(rounded_mul(p, z), -1.0 / 720);
  p = rounded_add(rounded_mul(p, z), 1.0 / 24);
  p = rounded_add(rounded_mul(p, z), -0.5);
  return rounded_add(rounded_mul(p, z), 1.0);
}

/// `radius_bits` gives u on (0, 1] in steps of 2^-52 (so |result| <= 8.5), `angle_bits` a quadrant (top two
/// bits) and an angle within it.
ULPSCOPE_HOST_DEVICE static inline NormalPair normal_pair(std::uint64_t radius_bits,
                                                          std::uint64_t angle_bits) {
  const double u = rounded_add(2.0, -bits_to_double((radius_bits >> 12) | 0x3ff0000000000000u));
  const double radius = rounded_sqrt(rounded_mul(-2.0, portable_log(u)));
  const double within = rounded_mul(exact_double((angle_bits << 2) >> 12), 0x1p-52);  // [0, 1)
  const double t = rounded_mul(rounded_add(within, -0.5), 0x1.921fb54442d18p0);       // pi/2
  const double c = portable_cos(t), s = portable_sin(t);
  // A quarter turn takes (c, s) to (-s, c).
  const std::uint64_t odd = angle_bits >> 62 & 1, half = angle_bits >> 63;
  const double x = odd ? -s : c, y = odd ? c : s;
  const double sign = half ? -radius : radius;
  return {rounded_mul(sign, x), rounded_mul(sign, y)};
}

}  // namespace ulpscope
