#include "reference/replay/scalar.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/arithmetic/scalar.hpp"
#include "reference/replay/scalar_chain.hpp"

namespace ulpscope {
namespace {

// Epilogues work in fp32, or in fp64 if the sum is kept there.
DType epilogue_format(const Plan& plan) {
  const bool wide =
      plan.arithmetic.accumulator == DType::f64 || (!plan.levels.empty() && plan.levels[0].in == DType::f64);
  return wide ? DType::f64 : DType::f32;
}

}  // namespace

std::uint32_t canonical_nan(DType out) {
  return out == DType::f32 ? kCanonicalNan : 0x7fff;
}

std::uint32_t finish(const Plan& plan, const Contraction& c, double sum, double bias) {
  const DType f = epilogue_format(plan);
  double r = sum;
  if (plan.alpha || plan.beta) {
    const double alpha = round_in(f, plan.alpha.value_or(1));
    if (c.has_bias)
      r = fma_in(f, alpha, r, mul_in(f, round_in(f, plan.beta.value_or(1)), bias));
    else
      r = mul_in(f, alpha, r);
  } else if (c.has_bias && plan.bias == BiasPlace::last) {
    r = add_in(f, r, bias);
  }
  if (c.divisor != 1) {
    const double d = round_in(f, c.divisor);
    if (plan.mean == MeanRule::reciprocal)
      r = mul_in(f, r, round_in(f, 1 / d));
    else  // a quotient of floats rounded to double and then to float is rounded once (53 >= 2*24 + 2)
      r = round_in(f, round_in(f, r) / d);
  }
  std::uint64_t bits = round_to_bits(plan.out, r);
  if (c.has_bias && plan.bias == BiasPlace::after)
    bits = round_to_bits(plan.out, add_in(plan.out, value_of_bits(plan.out, bits), bias));
  return std::isnan(value_of_bits(plan.out, bits)) ? canonical_nan(plan.out)
                                                   : static_cast<std::uint32_t>(bits);
}

double operand_part(const TensorView& tensor, std::int64_t i, OperandFormat format, int part) {
  if (format == OperandFormat::fp64) return tensor.at(i);
  // A float stays a float: on its way through a double a NaN would be made quiet.
  float rest = tensor.dtype == DType::f32 ? static_cast<const float*>(tensor.data)[i]
                                          : static_cast<float>(tensor.at(i));
  float shortened = shorten(format, rest);
  for (int p = 0; p < part; ++p) {
    rest = rest - shortened;
    shortened = shorten(format, rest);
  }
  return static_cast<double>(shortened);
}

ScalarReplay::ScalarReplay(const Plan& plan, const Program& program, const Contraction& c,
                           const Operands& operands)
    : plan_(plan),
      program_(program),
      c_(c),
      operands_(operands),
      a_(static_cast<std::size_t>(program.terms * program.passes)),
      b_(a_.size()),
      has_(a_.size()),
      reg_(static_cast<std::size_t>(program.registers)) {}

double ScalarReplay::chain(const Op& op, double acc) const {
  return scalar_chain(plan_, program_, op, a_.data(), b_.data(), has_.data(), acc);
}

std::uint32_t ScalarReplay::operator()(std::int64_t o) {
  std::fill(has_.begin(), has_.end(), std::uint8_t{0});
  const OperandRule& rule = plan_.operands;
  for (const Term& t : terms_of(c_, o))
    for (int pass = 0; pass < program_.passes; ++pass) {
      const Pass parts = rule.passes.empty() ? Pass{} : rule.passes[static_cast<std::size_t>(pass)];
      const auto slot = static_cast<std::size_t>(t.id * program_.passes + pass);
      a_[slot] = operand_part(operands_.a, t.a, rule.a, parts.a);
      b_[slot] = c_.b_is_ones ? (parts.b == 0 ? 1.0 : 0.0) : operand_part(operands_.b, t.b, rule.b, parts.b);
      has_[slot] = 1;
    }
  const double bias = c_.has_bias ? operands_.bias.at(bias_index(c_, o)) : 0;
  parts_.clear();
  for (const Op& op : program_.ops) {
    double& dst = reg_[static_cast<std::size_t>(op.dst)];
    switch (op.kind) {
      case OpKind::chain:
        dst = chain(op, op.takes_bias && c_.has_bias ? round_in(plan_.arithmetic.accumulator, bias) : 0);
        break;
      case OpKind::extend:
        dst = chain(op, dst);
        break;
      case OpKind::add:
        if (op.unordered) {
          if (parts_.empty()) parts_.push_back(round_in(op.format, dst));
          parts_.push_back(round_in(op.format, reg_[static_cast<std::size_t>(op.src)]));
        }
        dst = add_in(op.format, round_in(op.format, dst),
                     round_in(op.format, reg_[static_cast<std::size_t>(op.src)]));
        break;
      case OpKind::round:
        dst = round_in(op.format, dst);
        break;
    }
  }
  return finish(plan_, c_, reg_[0], bias);
}

}  // namespace ulpscope
