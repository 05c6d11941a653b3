#include "harness/statistics/error_model.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "harness/statistics/partial_sums.hpp"
#include "reference/parallel.hpp"
#include "reference/plan/program.hpp"

namespace ulpscope {
namespace {

// Everything that does not depend on the output. Shared with the closure that recomputes contributions.
struct Model {
  Contraction c;
  ModelData data;
  Roundings roundings;
  Plan candidate;
  Program candidate_program;
  std::optional<Plan> reference;
  Program reference_program;
};

// Scratch and the walk for one output; one per thread.
class OutputModel {
 public:
  explicit OutputModel(const Model& m)
      : m_(m), candidate_(m.candidate, m.candidate_program, m.c.divisor), t_(m.c, m.data) {
    if (m.reference) reference_.emplace(*m.reference, m.reference_program, m.c.divisor);
  }

  OutputError operator()(std::int64_t o, std::vector<double>* halves = nullptr) {
    t_.load(o);
    NoiseSink sink;
    sink.halves = halves;
    OutputError e;
    e.magnitude = t_.has_bias ? std::fabs(t_.bias) : 0;
    e.value = t_.bias;
    for (std::size_t i = 0; i < t_.n; ++i) {
      const double p = t_.a[i] * t_.b[i];
      e.value += p;
      e.magnitude += std::fabs(p);
    }
    // Only the sum is divided, and operators with a divisor have no bias.
    e.value /= m_.c.divisor;
    e.magnitude /= m_.c.divisor;
    operands(sink);
    if (!std::isfinite(e.value) || std::isinf(sink.offset)) {
      e.offset = HUGE_VAL;
      return e;
    }
    const double first = walk(candidate_, m_.candidate, sink);
    double second = 0;
    if (reference_ && !(m_.candidate == *m_.reference)) {
      NoiseSink other;
      other.halves = halves;
      second = walk(*reference_, *m_.reference, other);
      sink.sum.variance += other.sum.variance;
      sink.sum.fourth += other.sum.fourth;
      sink.offset -= other.offset;
    }
    if (reference_ && m_.candidate == *m_.reference) {
      sink = {};
      if (halves) halves->clear();
    } else if (reference_ && first > 0 && first == second) {
      e.grid = 2 * first;  // both results lie on one grid
    } else if (second > 0) {
      e.half = std::max(first, second);
      sink.uniform(std::min(first, second) * std::min(first, second));
    } else {
      e.half = first;
    }
    e.offset = std::isnan(sink.offset) ? HUGE_VAL : sink.offset;
    e.spread = sink.sum.spread();
    // One rounding to the output format among many of its size is a contribution like the others.
    if (e.half > 0 && e.half * e.half < e.spread.sigma * e.spread.sigma) {
      sink.uniform(e.half * e.half);
      e.half = 0;
      e.spread = sink.sum.spread();
    }
    return e;
  }

 private:
  void operands(NoiseSink& sink) {
    const OperandRule& rule = m_.candidate.operands;
    if (!rule.passes.empty() || (m_.reference && !m_.reference->operands.passes.empty())) return passes(sink);
    auto errors = [&](OperandFormat mine, OperandFormat other, const std::vector<double>& x,
                      OperandErrors& out) {
      if (m_.reference)
        operand_differences(mine, other, x.data(), t_.n, m_.roundings, out);
      else
        operand_errors(mine, x.data(), t_.n, m_.roundings, out);
    };
    errors(rule.a, m_.reference ? m_.reference->operands.a : rule.a, t_.a, of_a_);
    errors(m_.c.b_is_ones ? OperandFormat::fp64 : rule.b,
           m_.c.b_is_ones ? OperandFormat::fp64
           : m_.reference ? m_.reference->operands.b
                          : rule.b,
           t_.b, of_b_);
    double offset = 0, variance = 0, fourth = 0, crossed = 0, largest = 0;
    for (std::size_t i = 0; i < t_.n; ++i)
      largest = std::max({largest, std::fabs(of_a_.offset[i]), std::fabs(of_b_.offset[i])});
    if (std::isinf(largest)) {  // an operand became infinite: so does the error
      sink.offset = HUGE_VAL;
      return;
    }
    for (std::size_t i = 0; i < t_.n; ++i) {
      const double da = of_a_.offset[i], db = of_b_.offset[i], ha = of_a_.half[i], hb = of_b_.half[i];
      offset += da * t_.b[i] + (t_.a[i] + da) * db;
      const double through_a = ha * (t_.b[i] + db), through_b = hb * (t_.a[i] + da);
      const double square_a = through_a * through_a, square_b = through_b * through_b;
      variance += square_a + square_b;
      fourth += square_a * square_a + square_b * square_b;
      crossed += ha * ha * hb * hb;
    }
    const double d = 1 / m_.c.divisor;
    sink.offset += offset * d;
    sink.sum.variance += (variance / 3 + crossed / 9) * d * d;
    sink.sum.fourth += fourth * d * d * d * d;
    if (sink.halves)
      for (std::size_t i = 0; i < t_.n; ++i) {
        if (of_a_.half[i] > 0)
          sink.halves->push_back(std::fabs(of_a_.half[i] * (t_.b[i] + of_b_.offset[i]) * d));
        if (of_b_.half[i] > 0)
          sink.halves->push_back(std::fabs(of_b_.half[i] * (t_.a[i] + of_a_.offset[i]) * d));
      }
  }

  // Split operands: what the passes leave out is small and known; its sign is as good as random.
  void passes(NoiseSink& sink) {
    auto one = [&](const OperandRule& rule, double sign) {
      OperandRule full = rule;
      if (full.passes.empty()) full.passes = {Pass{}};
      error_.resize(t_.n);
      pass_errors(full, t_.a.data(), t_.b.data(), t_.n, error_.data());
      for (std::size_t i = 0; i < t_.n; ++i) {
        const double e = error_[i] / m_.c.divisor;
        if (m_.roundings == Roundings::known)
          sink.offset += sign * e;
        else if (e != 0)
          sink.uniform(3 * e * e);
      }
    };
    if (m_.reference && m_.reference->operands == m_.candidate.operands) return;
    one(m_.candidate.operands, 1);
    if (m_.reference) one(m_.reference->operands, -1);
    of_a_.shortened = t_.a;
    of_b_.shortened = t_.b;
  }

  double walk(PartialSums& sums, const Plan& plan, NoiseSink& sink) {
    // Bits count here: what a shortened product's last place is decides which sums are exact.
    const bool split = !plan.operands.passes.empty();
    operand_errors(split ? OperandFormat::fp32 : plan.operands.a, t_.a.data(), t_.n, Roundings::known,
                   scratch_a_);
    operand_errors(split ? OperandFormat::fp32 : plan.operands.b, t_.b.data(), t_.n, Roundings::known,
                   scratch_b_);
    const auto terms = static_cast<std::size_t>(m_.c.terms());
    terms_.resize(terms);
    if (t_.n < terms) std::fill(terms_.present.begin(), terms_.present.end(), std::uint8_t{0});
    for (std::size_t i = 0; i < t_.n; ++i) {
      const auto at = static_cast<std::size_t>(t_.id[i]);
      const double a = scratch_a_.shortened[i], b = scratch_b_.shortened[i];
      terms_.product[at] = a * b;
      terms_.grain[at] = a == 0 || b == 0 ? HUGE_VAL : grain_of(a) * grain_of(b);
      terms_.scale[at] = binade(a) * binade(b);
      terms_.present[at] = 1;
    }
    return sums.walk(terms_, t_.bias, t_.has_bias, sink);
  }

  const Model& m_;
  PartialSums candidate_;
  std::optional<PartialSums> reference_;
  TermGather t_;
  std::vector<double> error_;
  OperandErrors of_a_, of_b_, scratch_a_, scratch_b_;
  TermArrays terms_;
};

ErrorMixture mixture_of(std::shared_ptr<const Model> model, const ModelOptions& options) {
  const std::int64_t total = model->c.outputs(), terms = std::max<std::int64_t>(model->c.terms(), 1);
  const std::int64_t n =
      std::clamp<std::int64_t>(options.max_terms / terms, std::min<std::int64_t>(total, 64), total);
  const std::vector<std::int64_t> sample = sampled_outputs(total, n);
  ErrorMixture mixture;
  std::vector<OutputError> all(sample.size());
  constexpr std::int64_t kBlock = 256;
  parallel_for((n + kBlock - 1) / kBlock, options.threads, [&](std::int64_t block) {
    OutputModel output(*model);
    for (std::int64_t i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i)
      all[static_cast<std::size_t>(i)] = output(sample[static_cast<std::size_t>(i)]);
  });
  auto kept = std::make_shared<std::vector<std::int64_t>>();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (std::isfinite(all[i].value)) {
      mixture.outputs.push_back(all[i]);
      kept->push_back(sample[i]);
    }
  mixture.total =
      all.empty()
          ? 0
          : static_cast<std::int64_t>(static_cast<double>(total) *
                                      (static_cast<double>(kept->size()) / static_cast<double>(all.size())));
  mixture.contributions = [model, kept](std::size_t i) {
    Contributions parts;
    OutputModel output(*model);
    output((*kept)[i], &parts.halves);
    return parts;
  };
  return mixture;
}

std::shared_ptr<Model> make_model(const Plan& plan, const Contraction& c, const ModelData& data,
                                  const ModelOptions& options) {
  auto model = std::make_shared<Model>();
  model->c = c;
  model->data = data;
  model->roundings = options.roundings;
  model->candidate = plan;
  model->candidate_program = compile(plan, reduction_axes(c));
  return model;
}

}  // namespace

ErrorMixture model_error(const Plan& plan, const Contraction& c, const ModelData& data,
                         const ModelOptions& options) {
  return mixture_of(make_model(plan, c, data, options), options);
}

ErrorMixture model_difference(const Plan& candidate, const Plan& reference, const Contraction& c,
                              const ModelData& data, const ModelOptions& options) {
  auto model = make_model(candidate, c, data, options);
  model->reference = reference;
  model->reference_program = compile(reference, reduction_axes(c));
  return mixture_of(model, options);
}

}  // namespace ulpscope
