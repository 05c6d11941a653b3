#include "reference/exact/compensated.hpp"

#include <bit>

namespace ulpscope {
namespace {

int sign_of(double x) {
  return (x > 0) - (x < 0);
}

// y, moved to the odd neighbour on the side that a tail of this sign lies: rounding the result to a format of
// fewer bits is rounding y + tail, for |tail| of at most half a step. Truncate, then set the last bit.
double sticky(double y, int tail_sign) {
  if (tail_sign == 0) return y;
  auto bits = std::bit_cast<std::uint64_t>(y);
  if ((tail_sign > 0) != (y > 0)) --bits;  // towards zero
  return std::bit_cast<double>(bits | 1);
}

}  // namespace

std::optional<Settled> settle(double head, double middle, double tail, double error, double divisor,
                              DType out) {
  // x0 + x1 + x2 = head + middle + tail exactly, each far below the one before.
  double x1, x2;
  double x0 = two_sum(head, middle, x1);
  for (int pass = 0; pass < 2; ++pass) {
    x1 = two_sum(x1, pass == 0 ? tail : x2, x2);
    x0 = two_sum(x0, x1, x1);
  }
  if (x0 == 0) {
    if (x1 != 0 || x2 != 0 || error != 0) return std::nullopt;
    return Settled{0.0, 0};
  }
  // |x1| is at most half an ulp of x0 (a quarter where x0 is a power of two and x1 points below it): with
  // this much room, the truth lies between x0's neighbours.
  if (!(std::fabs(x2) + error <= 0x1p-56 * std::fabs(x0))) return std::nullopt;

  // truth = y + (t + c +- slack) / divisor
  double y = x0, t = x1, c = x2;
  if (divisor != 1) {
    // Remainders of a quotient that is off by few ulps are exact (the divisor has at most 53 bits). Two steps
    // bring the rest below half an ulp of y.
    y = x0 / divisor;
    double rest = (std::fma(-y, divisor, x0) + x1) / divisor;
    y = two_sum(y, rest, rest);
    double low;
    t = two_sum(std::fma(-y, divisor, x0), x1, low);
    c = low + x2;
  }
  const double slack = error + 0x1p-51 * (divisor == 1 ? 0 : std::fabs(c));
  // t + (c +- slack): a rounded sum of two doubles has the sign of the exact one.
  const double from = t + (c - slack), to = t + (c + slack);
  if (out == DType::f64) {
    if (divisor != 1) {
      const double reach = std::fabs(t) + std::fabs(c) + slack;
      if (!(reach < 0.24 * ulp_at(DType::f64, y) * divisor)) return std::nullopt;
      return Settled{y, round_to_bits(out, y)};
    }
    const double margin =
        c == 0 && slack == 0 ? 0 : 0x1p-51 * std::fabs(t);  // of the roundings in from and to
    const double low = y + (from - margin), high = y + (to + margin);
    if (low != high) return std::nullopt;
    return Settled{low, round_to_bits(out, low)};
  }
  const std::uint64_t low = round_to_bits(out, sticky(y, sign_of(from)));
  const std::uint64_t high = round_to_bits(out, sticky(y, sign_of(to)));
  if (low != high) return std::nullopt;
  return Settled{y, low};
}

}  // namespace ulpscope
