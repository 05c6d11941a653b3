#include "harness/vacuity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/statistics/operand_errors.hpp"

namespace ulpscope {
namespace {

// Effect of one mistake over the outputs looked at.
struct Effect {
  double max_abs = 0;
  std::int64_t outputs = 0, violating = 0;
  void add(double error, double limit) {
    ++outputs;
    max_abs = std::max(max_abs, std::fabs(error));
    violating += !(std::fabs(error) <= limit);
  }
  bool detected() const { return violating > 0; }
  double share() const { return outputs ? static_cast<double>(violating) / static_cast<double>(outputs) : 0; }
};

// A mistake at one place of the contraction, each place tried by itself: reports the place least seen.
struct Places {
  std::vector<Effect> at;
  explicit Places(std::size_t n) : at(n) {}
  PlantedMistake report(std::string name, std::string what) const {
    PlantedMistake m{std::move(name), std::move(what)};
    m.tried = 0;
    const Effect* least = nullptr;
    for (const Effect& e : at) {
      if (e.outputs == 0) continue;
      ++m.tried;
      m.seen += e.detected();
      if (!least || e.share() < least->share() || (e.share() == least->share() && e.max_abs < least->max_abs))
        least = &e;
    }
    if (least) {
      m.max_abs = least->max_abs;
      m.share = least->share();
    }
    m.detected = m.tried > 0 && m.seen == m.tried;
    return m;
  }
};

PlantedMistake report(std::string name, std::string what, const Effect& e, bool mistake = true) {
  PlantedMistake m{std::move(name), std::move(what), mistake, e.detected(), e.max_abs, e.share()};
  m.seen = m.detected;
  return m;
}

// Innermost reduction axis along which A moves by whole elements: where a neighbouring tap lies.
struct Neighbour {
  std::int64_t period = 1, inner = 1;  // of the canonical term number
  std::string axis;
};
Neighbour neighbour_axis(const Contraction& c) {
  Neighbour best;
  std::int64_t inner = 1;
  for (std::size_t x = c.red.size(); x-- > 0;) {
    const RedAxis& r = c.red[x];
    const bool coupled = r.coupling.out_axis >= 0;
    if (r.size > 1 && (best.axis.empty() || (coupled && best.axis == "c"))) best = {r.size, inner, r.name};
    inner *= r.size;
  }
  return best;
}

std::int64_t tail_length(std::int64_t terms) {
  for (const std::int64_t block : {8, 16, 32, 64})
    if (terms % block != 0 && terms > block) return terms % block;
  return std::max<std::int64_t>(1, std::min<std::int64_t>(8, terms / 4));
}

}  // namespace

Vacuity try_tolerance(const Contraction& c, const ModelData& data, const Tolerance& tolerance,
                      const VacuityOptions& options) {
  Vacuity v;
  v.tolerance = tolerance;
  v.outputs = c.outputs();
  const std::int64_t terms = c.terms(), n = sample_size(c, options.max_terms);
  // Places: every term of short sums, evenly spread ones of long sums.
  constexpr std::int64_t kPlaces = 64;
  const std::int64_t step = std::max<std::int64_t>(1, (terms + kPlaces - 1) / kPlaces);
  const auto places = static_cast<std::size_t>((terms + step - 1) / step);
  Places lost(places), wrong(places);
  Effect zeros, tail, truncated, bf16, no_bias, twice_bias, one_output;
  const Neighbour next = neighbour_axis(c);
  const std::int64_t dropped = tail_length(terms);

  TermGather t(c, data);
  OperandErrors rz_a, rz_b, bf_a, bf_b;
  std::vector<double> value_at(static_cast<std::size_t>(terms));  // A by term
  for (const std::int64_t o : sampled_outputs(v.outputs, n)) {
    t.load(o);
    double truth = t.bias;
    for (std::size_t i = 0; i < t.n; ++i) truth += t.a[i] * t.b[i];
    truth /= c.divisor;
    if (!std::isfinite(truth)) continue;
    ++v.looked_at;
    const double limit = tolerance.atol + tolerance.rtol * std::fabs(truth);
    zeros.add(truth, limit);
    operand_errors(OperandFormat::tf32_rz, t.a.data(), t.n, Roundings::known, rz_a);
    operand_errors(OperandFormat::tf32_rz, t.b.data(), t.n, Roundings::known, rz_b);
    operand_errors(OperandFormat::bf16, t.a.data(), t.n, Roundings::known, bf_a);
    operand_errors(OperandFormat::bf16, t.b.data(), t.n, Roundings::known, bf_b);
    std::fill(value_at.begin(), value_at.end(), 0.0);
    for (std::size_t i = 0; i < t.n; ++i) value_at[static_cast<std::size_t>(t.id[i])] = t.a[i];
    double lost_tail = 0, with_rz = 0, with_bf16 = 0;
    for (std::size_t i = 0; i < t.n; ++i) {
      const double product = t.a[i] * t.b[i];
      const std::int64_t id = t.id[i];
      if (id >= terms - dropped) lost_tail += product;
      with_rz += rz_a.shortened[i] * rz_b.shortened[i] - product;
      with_bf16 += bf_a.shortened[i] * bf_b.shortened[i] - product;
      one_output.add(product / c.divisor, limit);
      if (id % step != 0) continue;
      const auto place = static_cast<std::size_t>(id / step);
      lost.at[place].add(product / c.divisor, limit);
      if (next.period > 1) {  // the neighbouring tap's input (cyclically) under this tap's weight
        const std::int64_t at = id / next.inner % next.period, base = id - at * next.inner;
        const double other = value_at[static_cast<std::size_t>(base + (at + 1) % next.period * next.inner)];
        wrong.at[place].add((other - t.a[i]) * t.b[i] / c.divisor, limit);
      }
    }
    tail.add(lost_tail / c.divisor, limit);
    truncated.add(with_rz / c.divisor, limit);
    bf16.add(with_bf16 / c.divisor, limit);
    if (t.has_bias) {
      no_bias.add(t.bias, limit);
      twice_bias.add(t.bias, limit);
    }
  }

  v.tried.push_back(report("zeros", "a kernel that writes only zeros", zeros));
  v.tried.push_back(lost.report("lost_term", "one term left out of every output (the one least seen)"));
  if (next.period > 1)
    v.tried.push_back(wrong.report(
        "wrong_tap",
        fmt::format("one term with its neighbour's input along '{}' (the one least seen)", next.axis)));
  v.tried.push_back(
      report("lost_tail", fmt::format("the last {} of {} terms left out", dropped, terms), tail));
  v.tried.push_back(
      report("lost_term_once", "one term left out of a single output: share that is seen", one_output));
  if (c.has_bias) {
    v.tried.push_back(report("missing_bias", "no bias", no_bias));
    v.tried.push_back(report("doubled_bias", "the bias added twice", twice_bias));
  }
  v.tried.push_back(report("truncated_operands", "operands truncated to TF32", truncated, false));
  v.tried.push_back(report("bf16_operands", "operands rounded to bf16", bf16, false));

  const PlantedMistake& one_lost = v.tried[1];
  if (v.looked_at == 0) {
    v.vacuous = true;
    v.why = "no output has a finite true value: nothing can be judged";
  } else if (!zeros.detected()) {
    v.vacuous = true;
    v.why = fmt::format(
        "vacuous: it accepts a kernel that writes only zeros (largest true value looked at {:.3g})",
        zeros.max_abs);
  } else if (2 * one_lost.seen < one_lost.tried) {
    v.vacuous = true;
    v.why = fmt::format("vacuous: it cannot see a lost term ({} of {} lost terms seen)", one_lost.seen,
                        one_lost.tried);
  } else {
    std::string unseen;
    for (const PlantedMistake& m : v.tried)
      if (m.mistake && !m.detected) unseen += (unseen.empty() ? "" : ", ") + m.name;
    if (!unseen.empty()) v.why = "it does not always see: " + unseen;
  }
  return v;
}

}  // namespace ulpscope
