#include "harness/statistics/partial_sums.hpp"

#include <algorithm>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

Spacing spacing_of(DType type) {
  return {info(type).precision, info(type).emin, info(type).emax};
}

// Rounding to nearest of a multiple of `grain` to multiples of `quantum` > grain: remainders are r = quantum
// / grain equally likely values, ties included, of variance quantum^2/12 * (1 + 2/r^2).
double nearest_half_squared(double quantum, double grain) {
  const double share = grain / quantum;
  return 0.25 * quantum * quantum * (1 + 2 * share * share);
}
// Truncation: mean quantum/2 * (1 - 1/r), variance quantum^2/12 * (1 - 1/r^2).
void truncate(double value, double quantum, double grain, NoiseSink& sink) {
  const double share = grain / quantum;
  sink.offset -= std::copysign(0.5 * quantum * (1 - share), value);
  sink.uniform(0.25 * quantum * quantum * (1 - share * share));
}

}  // namespace

void TermArrays::resize(std::size_t n) {
  product.resize(n);
  grain.resize(n);
  scale.resize(n);
  present.resize(n);
}

PartialSums::PartialSums(const Plan& plan, const Program& program, double divisor)
    : plan_(plan),
      program_(program),
      divisor_(divisor),
      scale_(plan.alpha.value_or(1) / divisor),
      accumulator_(spacing_of(plan.arithmetic.accumulator)),
      product_(spacing_of(plan.arithmetic.product)),
      out_(spacing_of(plan.out)),
      block_(plan.arithmetic.block.keep + 1, info(plan.arithmetic.accumulator).emin,
             info(plan.arithmetic.accumulator).emax),
      registers_(static_cast<std::size_t>(program.registers)) {
  if (plan.arithmetic.block.accumulator != DType::f32) block_ = accumulator_;
  place_.reserve(program.places.size());
  for (const std::int64_t p : program.places)
    place_.push_back(p < 0 ? -1 : static_cast<std::int32_t>(p / program.passes));
}

void PartialSums::round(Register& r, const Spacing& to, NoiseSink& sink) const {
  const double quantum = to.at(r.sum);
  if (std::fabs(r.sum) > to.largest) sink.offset = HUGE_VAL;  // overflow: no finite error
  if (r.grain >= quantum) return;
  sink.uniform(nearest_half_squared(quantum, r.grain));
  r.grain = quantum;
}

void PartialSums::chain(Register& r, std::int64_t from, std::int64_t to, const TermArrays& terms,
                        NoiseSink& sink) const {
  const bool rounds_product = plan_.arithmetic.step == Step::mul_add;
  for (std::int64_t i = from; i < to; ++i) {
    const std::int32_t place = place_[static_cast<std::size_t>(i)];
    if (place < 0 || !terms.present[static_cast<std::size_t>(place)]) continue;
    Register p{terms.product[static_cast<std::size_t>(place)], terms.grain[static_cast<std::size_t>(place)]};
    if (rounds_product) round(p, product_, sink);
    r.sum += p.sum;
    r.grain = std::min(r.grain, p.grain);
    round(r, accumulator_, sink);
  }
}

// Kahan: what an addition loses is given back to the next term, so that only two roundings count: that of the
// corrected term, p - c (with FMA the only one of the term, else after the product's own), and the last
// addition's.
void PartialSums::compensated(Register& r, std::int64_t from, std::int64_t to, const TermArrays& terms,
                              NoiseSink& sink) const {
  const bool fused = plan_.arithmetic.step == Step::kahan_fma;
  double lost = 0, lost_grain = HUGE_VAL;  // typical size of c, and the grid it lies on
  for (std::int64_t i = from; i < to; ++i) {
    const std::int32_t place = place_[static_cast<std::size_t>(i)];
    if (place < 0 || !terms.present[static_cast<std::size_t>(place)]) continue;
    Register p{terms.product[static_cast<std::size_t>(place)], terms.grain[static_cast<std::size_t>(place)]};
    if (!fused) round(p, accumulator_, sink);
    const double quantum = accumulator_.at(std::max(std::fabs(p.sum), lost));
    p.grain = std::min(p.grain, lost_grain);
    if (p.grain < quantum) {
      sink.uniform(nearest_half_squared(quantum, p.grain));
      p.grain = quantum;
    }
    r.sum += p.sum;
    r.grain = std::min(r.grain, p.grain);  // of sum and c together
    const double unit = accumulator_.at(r.sum);
    lost = r.grain < unit ? unit / 4 : 0;
    lost_grain = lost > 0 ? p.grain : HUGE_VAL;
  }
  const double quantum = accumulator_.at(r.sum);
  if (r.grain < quantum) {
    sink.uniform(nearest_half_squared(quantum, r.grain));
    r.grain = quantum;
  }
}

// numerics: reference/arithmetic/block_step.hpp says the rule. Alignment truncates what lies below the
// largest exponent's 2^-frac, then the sum is truncated (or rounded) to the accumulator.
void PartialSums::blocks(Register& r, std::int64_t from, std::int64_t to, const TermArrays& terms,
                         NoiseSink& sink) const {
  const BlockStep& step = plan_.arithmetic.block;
  const double least = std::ldexp(1.0, step.floor), shift = std::ldexp(1.0, -step.frac);
  for (std::int64_t begin = from; begin < to; begin += step.terms) {
    const std::int64_t end = std::min<std::int64_t>(begin + step.terms, to);
    double largest = std::max(binade(r.sum), least);
    bool any = false;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int32_t place = place_[static_cast<std::size_t>(i)];
      if (place < 0 || !terms.present[static_cast<std::size_t>(place)]) continue;
      any = true;
      largest = std::max(largest, terms.scale[static_cast<std::size_t>(place)]);
    }
    if (!any) continue;
    const double quantum = largest * shift;
    auto align = [&](double value, double grain) {
      if (grain >= quantum || value == 0) return grain;
      if (std::fabs(value) < quantum)
        sink.offset -= value;  // nothing of it is left
      else
        truncate(value, quantum, grain, sink);
      return quantum;
    };
    double sum = r.sum, grain = align(r.sum, r.grain);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int32_t place = place_[static_cast<std::size_t>(i)];
      if (place < 0 || !terms.present[static_cast<std::size_t>(place)]) continue;
      sum += terms.product[static_cast<std::size_t>(place)];
      grain = std::min(grain, align(terms.product[static_cast<std::size_t>(place)],
                                    terms.grain[static_cast<std::size_t>(place)]));
    }
    r.sum = sum;
    r.grain = grain;
    const double unit = block_.at(sum);
    if (std::fabs(sum) > block_.largest) sink.offset = HUGE_VAL;
    if (grain >= unit) continue;
    if (step.rounding == StepRounding::rz)
      truncate(sum, unit, grain, sink);
    else
      sink.uniform(nearest_half_squared(unit, grain));
    r.grain = unit;
  }
}

double PartialSums::walk(const TermArrays& terms, double bias, bool has_bias, NoiseSink& sink) {
  NoiseSink inner;  // errors of the sum, before alpha and the divisor scale them
  std::vector<double> halves;
  if (sink.halves) inner.halves = &halves;
  for (const Op& op : program_.ops) {
    Register& r = registers_[static_cast<std::size_t>(op.dst)];
    switch (op.kind) {
      case OpKind::chain:
        r = {};
        if (op.takes_bias && has_bias) r = {bias, grain_of(bias)};
        [[fallthrough]];
      case OpKind::extend:
        if (plan_.arithmetic.step == Step::block)
          blocks(r, op.from, op.to, terms, inner);
        else if (plan_.arithmetic.step == Step::kahan || plan_.arithmetic.step == Step::kahan_fma)
          compensated(r, op.from, op.to, terms, inner);
        else
          chain(r, op.from, op.to, terms, inner);
        break;
      case OpKind::add: {
        const Register& other = registers_[static_cast<std::size_t>(op.src)];
        r.sum += other.sum;
        r.grain = std::min(r.grain, other.grain);
        round(r, spacing_of(op.format), inner);
        break;
      }
      case OpKind::round:
        round(r, spacing_of(op.format), inner);
        break;
    }
  }
  Register total = program_.ops.empty() ? Register{} : registers_[0];
  auto scaled = [&](double factor) {
    sink.offset += inner.offset * factor;
    sink.sum.variance += inner.sum.variance * factor * factor;
    sink.sum.fourth += inner.sum.fourth * factor * factor * factor * factor;
    if (sink.halves)
      for (const double h : halves) sink.halves->push_back(h * std::fabs(factor));
  };
  scaled(scale_);
  if (plan_.alpha && *plan_.alpha != 1) {
    total = {total.sum * *plan_.alpha, 0};
    round(total, accumulator_, sink);
  }
  const double added = has_bias && plan_.bias == BiasPlace::last ? bias * plan_.beta.value_or(1) : 0;
  if (added != 0) {
    total.sum += added;
    total.grain = std::min(total.grain, plan_.beta && *plan_.beta != 1 ? 0 : grain_of(bias));
    round(total, accumulator_, sink);
  }
  if (divisor_ != 1) {
    total = {total.sum / divisor_, 0};
    round(total, accumulator_, sink);
    if (plan_.mean == MeanRule::reciprocal) {  // 1/divisor is off by up to half a unit of its own
      const double q = accumulator_.at(1 / divisor_) * divisor_ * total.sum;
      sink.uniform(0.25 * q * q);
    }
  }
  double quantum = out_.at(total.sum);
  if (std::fabs(total.sum) > out_.largest) sink.offset = HUGE_VAL;
  if (total.grain >= quantum && plan_.bias != BiasPlace::after) return 0;
  if (has_bias && plan_.bias == BiasPlace::after) {
    round(total, out_, sink);
    total.sum += bias;
    total.grain = std::min(total.grain, grain_of(bias));
    quantum = out_.at(total.sum);
    if (total.grain >= quantum) return 0;
  } else if (total.grain >= quantum) {
    return 0;
  }
  return 0.5 * quantum;
}

}  // namespace ulpscope
