#include "reference/exact/decide.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "reference/exact/compensated.hpp"
#include "reference/terms.hpp"

namespace ulpscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double element(const TensorView& view, std::int64_t i) {
  switch (view.dtype) {
    case DType::f32:
      return static_cast<double>(static_cast<const float*>(view.data)[i]);
    case DType::f64:
      return static_cast<const double*>(view.data)[i];
    case DType::bf16:
      return static_cast<double>(std::bit_cast<float>(
          static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(view.data)[i]) << 16));
    case DType::f16:
      break;
  }
  return view.at(i);
}

// Calls f(a, b) for every term, the bias being one more.
template <class F>
void each_factor_pair(const Contraction& c, const Operands& operands, std::int64_t o, F&& f) {
  if (c.b_is_ones)
    for_each_term(c, o, [&](std::int64_t a, std::int64_t, std::int64_t) { f(element(operands.a, a), 1.0); });
  else
    for_each_term(c, o, [&](std::int64_t a, std::int64_t b, std::int64_t) {
      f(element(operands.a, a), element(operands.b, b));
    });
  if (c.has_bias) f(element(operands.bias, bias_index(c, o)), 1.0);
}

// Infinite and NaN products: what is left of a sum in which they take part.
struct Specials {
  bool nan = false, positive = false, negative = false;
  void add(double a, double b) {
    const double p = a * b;
    if (std::isnan(p))
      nan = true;
    else if (std::isinf(a) || std::isinf(b))
      (p > 0 ? positive : negative) = true;
  }
  bool any() const { return nan || positive || negative; }
  double value() const {
    if (nan || (positive && negative)) return std::numeric_limits<double>::quiet_NaN();
    return positive ? kInfinity : -kInfinity;
  }
};

}  // namespace

Decision Decider::decide(std::int64_t o) {
  const bool doubles =
      operands_->a.dtype == DType::f64 || (!c_->b_is_ones && operands_->b.dtype == DType::f64);
  CompensatedSum sum;
  Specials specials;
  bool any_term = false, all_negative_zero = true;
  double largest = 0, smallest = kInfinity;  // magnitudes of non-zero products
  std::int64_t terms = 0;
  each_factor_pair(*c_, *operands_, o, [&](double a, double b) {
    any_term = true;
    ++terms;
    if (!(std::fabs(a) < kInfinity) || !(std::fabs(b) < kInfinity)) return specials.add(a, b);
    const double p = a * b;
    if (a == 0 || b == 0) {
      all_negative_zero = all_negative_zero && std::signbit(p);
      return;
    }
    all_negative_zero = false;
    if (doubles) {
      largest = std::fmax(largest, std::fabs(p));
      smallest = std::fmin(smallest, std::fabs(p));
      sum.add(p);
      sum.add(std::fma(a, b, -p));
    } else {
      sum.add(p);  // exact: at most 24 + 24 bits, exponents within double's
    }
  });
  Decision d;
  if (specials.any()) {
    d.value = specials.value();
    d.magnitude = kInfinity;
    d.rounded = round_to_bits(out_, d.value);
    d.rule = Rule::special;
    return d;
  }
  d.magnitude = sum.magnitude();
  // fp64 products: the error term fma(a,b,-p) is exact only if it does not underflow, and sums must not
  // overflow. Products that underflowed are lost from S as well: 2^-1074 each covers them.
  const bool unsafe = doubles && (smallest < 0x1p-960 || !(largest * static_cast<double>(terms) < 0x1p1020));
  if (unsafe) d.magnitude += 0x1p-1000 * static_cast<double>(terms);
  if (!unsafe) {
    if (const auto settled = settle(sum, c_->divisor, out_)) {
      d.value = settled->value;
      d.rounded = settled->rounded;
      if (d.value == 0 && any_term && all_negative_zero) {
        d.value = -0.0;
        d.rounded = round_to_bits(out_, -0.0);
      }
      return d;
    }
  }
  return decide_by_mpfr(o, d.magnitude, any_term && all_negative_zero);
}

Decision Decider::decide_by_mpfr(std::int64_t o, double magnitude, bool all_negative_zero) {
  each_factor_pair(*c_, *operands_, o, [&](double a, double b) { mpfr_.add_product(a, b); });
  const RoundedTwice r = mpfr_.take(c_->divisor);
  const double sign = all_negative_zero ? -0.0 : 0.0;
  Decision d;
  d.value = r.nearest == 0 && r.sticky == 0 ? sign : r.nearest;
  d.magnitude = magnitude;
  d.rounded = round_to_bits(out_, out_ == DType::f64 ? d.value : r.sticky == 0 ? sign : r.sticky);
  d.rule = Rule::mpfr;
  return d;
}

}  // namespace ulpscope
