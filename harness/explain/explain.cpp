#include "harness/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "harness/explain/render.hpp"
#include "harness/explain/side.hpp"
#include "harness/explain/side_plans.hpp"
#include "harness/inputs.hpp"
#include "harness/invariance.hpp"
#include "harness/statistics/order_bound.hpp"
#include "reference/counted.hpp"
#include "reference/error.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {
namespace {

std::string hash_of(const TensorView& t) {
  return t.data ? hash_bytes(t.data, t.bytes()) : "none";
}

// Hashes of every tensor on both sides come first.
bool inputs_equal(const ExplainRequest& r, Rung& rung) {
  rung.name = "inputs equal";
  if (!r.reference_operands) {
    rung.note = "only one side's inputs were given";
    return true;
  }
  std::string differ;
  const Operands &x = r.operands, &y = *r.reference_operands;
  const std::pair<const char*, std::pair<const TensorView*, const TensorView*>> all[] = {
      {"input", {&x.a, &y.a}}, {"weight", {&x.b, &y.b}}, {"bias", {&x.bias, &y.bias}}};
  for (auto& [name, views] : all) {
    const std::string p = hash_of(*views.first), q = hash_of(*views.second);
    if (p != q)
      differ += fmt::format("{}{} ({} against {})", differ.empty() ? "" : ", ", name, p.substr(0, 12),
                            q.substr(0, 12));
  }
  rung.status = differ.empty() ? RungStatus::excluded : RungStatus::confirmed;
  rung.note =
      differ.empty() ? "hashes of both sides' inputs agree" : "the two sides were given different " + differ;
  return differ.empty();
}

// The additions that give this value, of a sum short enough to try all sequences.
std::string tree_of(const ExplainRequest& r, std::int64_t o, const TensorView& y) {
  if (r.contraction.terms() > 8 || y.dtype != DType::f32) return "";
  for (const char* arithmetic : {"fp32 | fma", "fp32 | mul_add"})
    if (auto tree = sequence_that_gives(*parse_plan(arithmetic), r.contraction, r.operands, o,
                                        static_cast<std::uint32_t>(y.bits_at(o))))
      return *tree;
  return "";
}

void compare_repeats(const ExplainRequest& r, const Truth& truth, Explanation& e, Rung& rung) {
  rung.name = "deterministic";
  if (r.repeats.empty()) {
    rung.note = "needs another dump of the same call (--repeat)";
    return;
  }
  const TensorView y = r.candidates[0].output.view();
  Repeats& p = e.repeats;
  p.dumps = static_cast<std::int64_t>(r.repeats.size()) + 1;
  const double u = 2.02 * static_cast<double>(r.contraction.terms() + 2) * 0x1p-24;
  for (const Dump& d : r.repeats) {
    if (d.output.size() != y.size())
      throw Error("the repeated dump " + d.name + " has another shape than the candidate");
    for (std::int64_t i = 0; i < y.size(); ++i) {
      if (d.output.view().bits_at(i) == y.bits_at(i) && d.output.dtype == y.dtype) continue;
      const double a = y.at(i), b = d.output.view().at(i);
      if (p.differing++ == 0) {
        p.first_index = i, p.first_a = a, p.first_b = b;
        p.tree_a = tree_of(r, i, y);
        p.tree_b = tree_of(r, i, d.output.view());
      }
      const double limit =
          u * truth.magnitude[static_cast<std::size_t>(i)] / std::abs(r.contraction.divisor) +
          2 * ulp_at(y.dtype, std::max(std::abs(a), 1e-300));
      if (!(std::abs(a - b) <= limit)) p.race = true;
      if (std::isfinite(a - b) && std::abs(a - b) > p.max_abs)
        p.max_abs = std::abs(a - b), p.spread_bound = limit;
    }
  }
  rung.measured = true;
  rung.max_residual = p.max_abs;
  rung.equal_share = 1 - static_cast<double>(p.differing) / static_cast<double>(y.size() * (p.dumps - 1));
  rung.status = p.differing ? RungStatus::confirmed : RungStatus::excluded;
  rung.note =
      p.differing
          ? fmt::format("{} between dumps of one call, by up to {:.3g}; {}",
                        counted(p.differing, "output", "differs", "differ"), p.max_abs,
                        p.race ? "further apart than any two orders of summation can be: a race, not rounding"
                               : "within what another order of summation can do")
          : fmt::format("{} dumps, the same bits", p.dumps);
}

bool integers(const TensorView& t) {
  for (std::int64_t i = 0; t.data && i < t.size(); ++i)
    if (t.at(i) != std::floor(t.at(i)) || std::abs(t.at(i)) > 0x1p20) return false;
  return true;
}

Rung integer_rung(const ExplainRequest& r, const Truth& truth) {
  Rung rung;
  rung.name = "integer inputs";
  double largest = 0;
  for (const double s : truth.magnitude) largest = std::max(largest, s);
  if (largest > 0x1p24 || !integers(r.operands.a) || !integers(r.operands.b) || !integers(r.operands.bias) ||
      r.contraction.divisor != 1) {
    rung.note =
        "these inputs are no small integers: run the kernel on such (every order and mode must then agree in "
        "every bit)";
    return rung;
  }
  const TensorView y = r.candidates[0].output.view();
  std::int64_t equal = 0;
  for (std::int64_t i = 0; i < y.size(); ++i)
    equal += y.at(i) == value_of_bits(truth.out, truth.rounded[static_cast<std::size_t>(i)]);
  rung.measured = true;
  rung.equal_share = static_cast<double>(equal) / static_cast<double>(y.size());
  rung.status = equal == y.size() ? RungStatus::excluded : RungStatus::confirmed;
  rung.note = equal == y.size()
                  ? "every order is exact on these inputs, and so is the result: indexing is right"
                  : fmt::format("every order is exact on these inputs, yet {} wrong: no rounding can do that",
                                counted(y.size() - equal, "output", "is", "are"));
  return rung;
}

std::optional<PairMeasurement> compare(const ExplainRequest& r, const Dump& candidate) {
  if (!r.reference) return {};
  PairMeasurer pair(std::make_shared<const StrataMap>(r.contraction), candidate.output.dtype,
                    r.reference->output.dtype, r.tolerance);
  pair.add(0, candidate.output.size(), candidate.output.data.get(), r.reference->output.data.get());
  return pair.result();
}

bool same_as_exact(const Dump& d, const Truth& t) {
  for (std::int64_t i = 0; i < d.output.size(); ++i)
    if (d.output.view().bits_at(i) != t.rounded[static_cast<std::size_t>(i)]) return false;
  return true;
}

std::string narrowed(std::string plan) {
  return plan.substr(0, plan.find(" | out "));
}

class Pipeline {
 public:
  explicit Pipeline(const ExplainRequest& r) : r_(r) {
    if (r.candidates.empty()) throw Error("explain: give at least one candidate");
    check(r.operands);
    for (const Dump& d : r.candidates) check(d);
    if (r.reference) check(*r.reference);
    if (r.reference_operands) check(*r.reference_operands);
  }

  Explanation operator()() {
    e_.outputs = r_.contraction.outputs();
    e_.tolerance = r_.tolerance;
    Rung inputs, repeats;
    const bool same_inputs = inputs_equal(r_, inputs);
    const Truth& truth = truth_for(false, r_.candidates[0].output.dtype);
    compare_repeats(r_, truth, e_, repeats);
    e_.rungs = {inputs, repeats, integer_rung(r_, truth)};
    e_.pair = compare(r_, r_.candidates[0]);
    if (r_.reference) e_.reference = side(*r_.reference, true, {});
    std::vector<std::string> hints = r_.plans;
    if (r_.batch)
      for (std::string& plan : plans_of_batch(r_.batch)) hints.push_back(std::move(plan));
    if (e_.reference && e_.reference->plan) hints.push_back(narrowed(*e_.reference->plan));
    e_.candidate = side(r_.candidates[0], false, hints);
    if (e_.repeats.differing)
      for (const Dump& d : r_.repeats) e_.repeats.plans.push_back(side(d, false, hints).plan.value_or(""));
    e_.cause = cause(r_.candidates[0], e_.candidate, e_.pair, same_inputs, e_.cause_why);
    for (std::size_t i = 1; i < r_.candidates.size(); ++i) {
      SideReport s = side(r_.candidates[i], false, hints);
      std::string why;
      const auto pair = compare(r_, r_.candidates[i]);
      e_.other_causes.push_back(cause(r_.candidates[i], s, pair, same_inputs, why));
      e_.others.push_back(std::move(s));
    }
    attain();
    zeros();
    if (r_.batch) batch();
    e_.summary = summary_of(e_);
    return std::move(e_);
  }

 private:
  void check(const Dump& d) const {
    if (d.output.dtype == DType::f64) throw Error(d.name + " holds fp64 results: dump fp32, bf16 or fp16");
    if (d.output.size() != r_.contraction.outputs())
      throw Error(
          fmt::format("{} has shape {}, but the operator's output is {}: name the part that was dumped with "
                      "--output-slice",
                      d.name, to_string(d.output.shape), to_string(r_.contraction.out_shape)));
  }
  void check(const Operands& o) const {
    if (o.a.size() != r_.contraction.a_size ||
        (!r_.contraction.b_is_ones && (!o.b.data || o.b.size() != r_.contraction.b_size)) ||
        (r_.contraction.has_bias && (!o.bias.data || o.bias.size() != r_.contraction.bias_size)))
      throw Error("explain: an operand's shape does not fit the operator");
  }

  const Operands& operands_of(bool reference) const {
    return reference && r_.reference_operands ? *r_.reference_operands : r_.operands;
  }

  const Truth& truth_for(bool reference, DType out) {
    const bool own = reference && r_.reference_operands.has_value();
    const auto key = std::make_pair(own, out);
    auto it = truths_.find(key);
    if (it == truths_.end())
      it = truths_.emplace(key, truth_of(r_.contraction, operands_of(reference), out, r_.threads)).first;
    return it->second;
  }

  SideReport side(const Dump& d, bool reference, const std::vector<std::string>& hints) {
    SideInput in;
    in.dump = &d;
    in.operands = &operands_of(reference);
    if (!reference) in.mode = r_.mode;
    in.hints = hints;
    if (!reference && r_.candidates.size() > 1)
      in.stale = &d == &r_.candidates[0] ? &r_.candidates[1] : &r_.candidates[0];
    in.nondeterministic = !reference && &d == &r_.candidates[0] && e_.repeats.differing > 0;
    return explain_side(r_, in, truth_for(reference, d.output.dtype));
  }

  std::string cause(const Dump& d, SideReport& s, const std::optional<PairMeasurement>& pair,
                    bool same_inputs, std::string& why) {
    const bool same =
        pair ? pair->equal_bits == pair->outputs : same_as_exact(d, truth_for(false, d.output.dtype));
    if (same && passes(s.verdict)) {
      s.verdict = Verdict::identical;
      s.why =
          r_.reference ? "the same bits as the reference" : "the correctly rounded exact result in every bit";
    }
    if (same) {
      why = r_.reference ? "the two results have the same bits"
                         : "the result is the correctly rounded exact one in every bit";
      return "none";
    }
    if (!same_inputs) {
      why = e_.rungs[0].note;
      return "inputs_differ";
    }
    const SideReport* reference = e_.reference ? &*e_.reference : nullptr;
    const std::string found = cause_of(s, reference, why);
    if (found != "nonfinite" && &d == &r_.candidates[0] && e_.repeats.differing > 0) {
      why = e_.rungs[1].note;
      return "nondeterminism";
    }
    return found;
  }

  void attain() {
    ModelOptions options;
    options.threads = r_.threads;
    options.max_terms = std::int64_t{1} << 21;
    std::shared_ptr<const Plan> plan;
    if (r_.reference) {
      if (e_.reference->plan)
        plan = parse_plan(*e_.reference->plan);
      else if (e_.reference->operands != "unknown")
        plan = parse_plan(
            e_.reference->operands + " | fma" +
            (e_.reference->dtype == DType::f32 ? "" : std::string(" | out ") + name_of(e_.reference->dtype)));
    }
    e_.attainable = attainability(r_.contraction, model_data(r_.operands), plan.get(),
                                  r_.candidates[0].output.dtype, r_.tolerance, options);
    e_.attainable_known = true;
  }

  // Libraries choose tile, split and engine by the number of rows, so one row's bits depend on the others'
  // number.
  void batch() {
    e_.batch = r_.batch;
    e_.rows = r_.contraction.outputs() / r_.contraction.out_shape.back();
    const auto plan = parse_plan(e_.candidate.plan                    ? *e_.candidate.plan
                                 : e_.candidate.operands != "unknown" ? e_.candidate.operands + " | mul_add"
                                                                      : "fp32 | mul_add");
    const OrderBound order = any_order_bound(*plan, r_.contraction, r_.operands, r_.threads);
    for (const double s : truth_for(false, r_.candidates[0].output.dtype).magnitude)
      e_.batch_spread = std::max(e_.batch_spread, 2 * order.at(s));
  }

  // A tolerance that accepts zeros accepts a kernel that writes nothing.
  void zeros() {
    const Truth& t = truth_for(false, r_.candidates[0].output.dtype);
    e_.zeros_pass = true;
    for (std::int64_t i = 0; i < e_.outputs && e_.zeros_pass; ++i) {
      const double v =
          r_.reference ? r_.reference->output.view().at(i) : t.value[static_cast<std::size_t>(i)];
      e_.zeros_pass = std::abs(v) <= r_.tolerance.atol + r_.tolerance.rtol * std::abs(v);
    }
    if (!e_.zeros_pass || !r_.tolerance_given) return;
    const TensorView y = r_.candidates[0].output.view();
    for (std::int64_t i = 0; i < y.size(); ++i)
      if (y.at(i) != 0) return;
    if (e_.cause == "none") return;
    e_.candidate.verdict = Verdict::vacuous;
    e_.candidate.why = "this tolerance accepts a kernel that writes nothing, and this one wrote zeros";
  }

  const ExplainRequest& r_;
  Explanation e_;
  std::map<std::pair<bool, DType>, Truth> truths_;
};

}  // namespace

const char* to_string(RungStatus status) {
  return status == RungStatus::excluded    ? "excluded"
         : status == RungStatus::confirmed ? "confirmed"
                                           : "not tested";
}

Explanation explain(const ExplainRequest& request) {
  return Pipeline(request)();
}

}  // namespace ulpscope
