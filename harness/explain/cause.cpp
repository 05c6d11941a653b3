// Why two explained sides differ: their plans compared, one rung after another.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/explain/explain.hpp"
#include "reference/counted.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {
namespace {

bool wrong_kind(const SideReport& s) {
  return s.error.nonfinite_mismatch > 0;
}

// Significant bits of both operands together, fp16's shorter range counting as a little less.
double kept_bits(const std::string& format) {
  if (format == "fp32") return 24;
  if (format.starts_with("tf32")) return 11;
  return format == "fp16" ? 10.9 : 8;
}

// Both operands together; two parts keep twice as many.
double kept_bits(const SideReport& s) {
  if (s.operands == "unknown" && !s.parts.empty()) return s.parts.starts_with("bf16") ? 2 * 16 : 2 * 22;
  return kept_bits(s.operands_input) + kept_bits(s.operands_weight);
}

bool meets(const std::vector<std::string>& x, const std::vector<std::string>& y) {
  return std::any_of(x.begin(), x.end(),
                     [&](auto& f) { return std::find(y.begin(), y.end(), f) != y.end(); });
}

std::string operands_words(const SideReport& s) {
  if (s.operands == "unknown" && !s.parts.empty()) return "several parts (" + s.parts + ")";
  return s.operands != "unknown" ? s.operands
                                 : s.operands_input + " input and " + s.operands_weight + " weight";
}

}  // namespace

std::string cause_of(const SideReport& c, const SideReport* r, std::string& why) {
  const bool exact = !r;
  if (wrong_kind(c) || (r && wrong_kind(*r))) {
    const SideReport& s = wrong_kind(c) ? c : *r;
    why = fmt::format("{} of the {} {} NaN or infinite where the truth is not (or the other way round)",
                      counted(s.error.nonfinite_mismatch, "output"), &s == &c ? "candidate" : "reference",
                      s.error.nonfinite_mismatch == 1 ? "is" : "are");
    return "nonfinite";
  }
  for (const SideReport* s : {&c, r})
    if (s && s->mistake) {
      why = fmt::format("the {}: {} ({})", s == &c ? "candidate" : "reference", s->mistake->what,
                        s->mistake->region.words);
      return s->mistake->other_inputs ? "inputs_differ" : "structural";
    }
  auto known = [](const SideReport& s) {
    return (s.operands_input != "unknown" && s.operands_weight != "unknown") || !s.parts.empty();
  };
  if (!known(c) || (r && !known(*r))) {
    why = fmt::format("no rounding of the operands and no known mistake accounts for the {}",
                      !known(c) ? "candidate" : "reference");
    return "unexplained";
  }
  const std::vector<std::string> full{"fp32"};
  const std::vector<std::string>&ri = exact ? full : r->input_fit, &rw = exact ? full : r->weight_fit;
  const bool same_input = meets(c.input_fit, ri), same_weight = meets(c.weight_fit, rw);
  const bool same_parts = c.operands == "unknown" && r && c.parts == r->parts && !c.parts.empty();
  if (!same_parts && (!same_input || !same_weight)) {
    const double of_c = kept_bits(c), of_r = exact ? 2 * kept_bits("fp32") : kept_bits(*r);
    if (of_c == of_r) {
      why = fmt::format(
          "both shorten their operands to the same format by different rules: the candidate {}, the "
          "reference {}",
          operands_words(c), exact ? "exact" : operands_words(*r));
      return "tie_rounding";
    }
    why = of_c < of_r ? fmt::format("the candidate shortened its operands to {}; the {} to {}",
                                    operands_words(c), exact ? "exact result does not" : "reference",
                                    exact ? "nothing" : operands_words(*r))
                      : fmt::format("the reference shortened its operands to {}; the candidate used {}",
                                    operands_words(*r), operands_words(c));
    if (exact) why = "the candidate shortened its operands to " + operands_words(c);
    return of_c < of_r ? "candidate_precision" : "reference_precision";
  }
  const std::string flushed_c = c.flushes, flushed_r = r ? r->flushes : "";
  if (c.plan && flushed_c != flushed_r && (exact || r->plan)) {
    const bool is_c = !flushed_c.empty();
    why = fmt::format("the same operands; the {} flushes subnormal {} to zero",
                      is_c ? "candidate" : "reference", is_c ? flushed_c : flushed_r);
    return "accumulator";
  }
  if (exact && c.plan) {
    why = "full operands; the accumulator's roundings are all that is left: `" + *c.plan + "`";
    return "accumulator";
  }
  const bool open_c = !c.unordered_plan.empty(), open_r = r && !r->unordered_plan.empty();
  if (open_c && (exact || open_r)) {
    why = fmt::format("partial sums are added in no fixed order (atomics), another one in each call: `{}`",
                      c.unordered_plan);
    if (open_r && r->unordered_plan != c.unordered_plan) why += " and `" + r->unordered_plan + "`";
    return "nondeterminism";
  }
  const bool c_misses = !c.plan && misses_exact_sums(c.error);
  if (c_misses || (r && !r->plan && misses_exact_sums(r->error))) {
    why = fmt::format(
        "sums of these products are exact, in any order, and the {} differs from them: it lost or misplaced "
        "terms, does other arithmetic (a transform, say), or used other operands",
        c_misses ? "candidate" : "reference");
    return "unexplained";
  }
  if (exact) {
    why = "full operands, within what accumulation can do; but no plan gives its bits, so none is proved";
    return "unexplained";
  }
  if (c.dtype != r->dtype) {
    why = fmt::format("the same operands, but results written as {} and {}", name_of(c.dtype),
                      name_of(r->dtype));
    return "accumulator";
  }
  if (c.plan && r->plan) {
    // Where several plans give the bits, two of one arithmetic if there are such.
    for (const std::string& x : c.plans)
      for (const std::string& y : r->plans) {
        const auto p = parse_plan(x), q = parse_plan(y);
        if (p->arithmetic == q->arithmetic && p->alpha == q->alpha && p->beta == q->beta &&
            p->mean == q->mean && p->bias == q->bias) {
          why = fmt::format("the same operands and accumulator, added in another order: `{}` and `{}`", x, y);
          return "accumulation_order";
        }
      }
    why = fmt::format("the same operands, another accumulator or step: `{}` and `{}`", *c.plan, *r->plan);
    return "accumulator";
  }
  // An order is a cause only where both are known to the bit: within a bound, much else fits.
  why = fmt::format(
      "the same operand rounding, and within what accumulation can do; but no plan gives the bits of the {}, "
      "so no order is proved",
      c.plan    ? "reference"
      : r->plan ? "candidate"
                : "candidate or of the reference");
  return "unexplained";
}

}  // namespace ulpscope
