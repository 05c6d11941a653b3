#include "harness/statistics/operand_errors.hpp"

#include <array>
#include <cmath>

#include "harness/statistics/binade.hpp"

namespace ulpscope {
namespace {

enum class Rule { even, away, zero };

struct Shortener {
  Spacing spacing;
  Rule rule;
  double largest;
  bool saturates;

  explicit Shortener(OperandFormat format)
      : spacing(info(format).precision, info(format).emin, 127), largest(info(format).largest) {
    rule = format == OperandFormat::tf32_rna                                      ? Rule::away
           : format == OperandFormat::tf32_rz || format == OperandFormat::bf16_rz ? Rule::zero
                                                                                  : Rule::even;
    saturates = format == OperandFormat::fp8_e4m3 || format == OperandFormat::fp8_e5m2;
  }

  double operator()(double x, double quantum) const {
    const double big = 0x1.8p52 * quantum;
    double s = (x + big) - big;  // to nearest even on multiples of quantum; exact for |x| < 2^51 quantum
    if (rule == Rule::zero && std::fabs(s) > std::fabs(x)) s -= std::copysign(quantum, x);
    if (rule == Rule::away && std::fabs(x - s) == 0.5 * quantum && std::fabs(s) < std::fabs(x))
      s += std::copysign(quantum, x);
    if (std::fabs(s) > largest) s = std::copysign(saturates ? largest : HUGE_VAL, x);
    return s;
  }
};

}  // namespace

void operand_errors(OperandFormat format, const double* x, std::size_t n, Roundings roundings,
                    OperandErrors& out) {
  out.shortened.resize(n);
  out.offset.resize(n);
  out.half.resize(n);
  if (format == OperandFormat::fp64) {
    for (std::size_t i = 0; i < n; ++i) out.shortened[i] = x[i];
    out.offset.assign(n, 0);
    out.half.assign(n, 0);
    return;
  }
  const Shortener shorten_one(format);
  const bool known = roundings == Roundings::known, truncates = shorten_one.rule == Rule::zero;
  for (std::size_t i = 0; i < n; ++i) {
    const double quantum = shorten_one.spacing.at(x[i]), s = shorten_one(x[i], quantum), error = s - x[i];
    const bool inexact = error != 0, far = std::fabs(error) > quantum;  // far: overflow or saturation
    out.shortened[i] = s;
    out.offset[i] = known || far ? error : inexact && truncates ? -std::copysign(0.5 * quantum, x[i]) : 0;
    out.half[i] = known || far || !inexact ? 0 : 0.5 * quantum;
  }
}

void operand_differences(OperandFormat first, OperandFormat second, const double* x, std::size_t n,
                         Roundings roundings, OperandErrors& out) {
  operand_errors(first, x, n, roundings, out);
  if (first == second) {
    out.offset.assign(n, 0);
    out.half.assign(n, 0);
    return;
  }
  OperandErrors other;
  operand_errors(second, x, n, roundings, other);
  const bool same_grid =
      info(first).precision == info(second).precision && info(first).emin == info(second).emin;
  for (std::size_t i = 0; i < n; ++i) {
    if (same_grid) {
      out.offset[i] = out.shortened[i] - other.shortened[i];
      out.half[i] = 0;
    } else {
      out.offset[i] -= other.offset[i];
      out.half[i] = std::sqrt(out.half[i] * out.half[i] + other.half[i] * other.half[i]);
    }
  }
}

void pass_errors(const OperandRule& rule, const double* a, const double* b, std::size_t n, double* error) {
  const Shortener of_a(rule.a), of_b(rule.b);
  auto parts = [&](const Shortener& s, double x, std::array<double, 3>& part) {
    for (double& p : part) {
      p = s(x, s.spacing.at(x));
      x -= p;
    }
  };
  for (std::size_t i = 0; i < n; ++i) {
    std::array<double, 3> pa, pb;
    parts(of_a, a[i], pa);
    parts(of_b, b[i], pb);
    double sum = -a[i] * b[i];
    for (const Pass& pass : rule.passes)
      sum += pa[static_cast<std::size_t>(pass.a)] * pb[static_cast<std::size_t>(pass.b)];
    error[i] = sum;
  }
}

}  // namespace ulpscope
