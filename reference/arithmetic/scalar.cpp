#include "reference/arithmetic/scalar.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace ulpscope {
namespace {

// x + y to odd: where the double sum is inexact and its last bit even, the neighbour on the error's side.
// Rounding the result again, to a format at least two bits shorter, then equals rounding the exact sum once.
double add_to_odd(double x, double y) {
  const double s = x + y;
  if (!std::isfinite(s)) return s;
  const double yy = s - x;
  const double error = (x - (s - yy)) + (y - yy);  // TwoSum: exact
  if (error == 0 || (std::bit_cast<std::uint64_t>(s) & 1) != 0) return s;
  return std::nextafter(s, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

}  // namespace

double round_in(DType format, double x) {
  if (format == DType::f64) return x;
  if (format == DType::f32) return static_cast<float>(x);
  return value_of_bits(format, round_to_bits(format, x));
}

double add_in(DType format, double x, double y) {
  if (format == DType::f64) return x + y;
  return round_in(format, add_to_odd(x, y));
}

double mul_in(DType format, double x, double y) {
  if (format == DType::f64) return x * y;
  return round_in(format, x * y);
}

double fma_in(DType format, double a, double b, double c) {
  if (format == DType::f64) return std::fma(a, b, c);
  return round_in(format, add_to_odd(a * b, c));
}

}  // namespace ulpscope
