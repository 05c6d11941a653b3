#include "harness/judge.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reference/counted.hpp"
#include "reference/search/search.hpp"

namespace ulpscope {
namespace {

std::string count_of(std::int64_t n, std::int64_t of) {
  return fmt::format("{} of {}", n, counted(of, "output"));
}

// Captures of older versions know how many, but not where.
std::string first_at(std::int64_t index) {
  return index < 0 ? "" : fmt::format(", the first at index {}", index);
}

// Whatever the data here can show: these kernels do not sum their outputs' terms.
std::string reason_of(const SumsOfOnes& ones) {
  const auto terms = static_cast<double>(ones.terms);
  return fmt::format("a launch on ones gives {:.9g} for output {} of {}{} ({} of {} looked at)", ones.seen,
                     ones.first_wrong, counted(ones.terms, "term"),
                     ones.seen < terms   ? ": terms are lost"
                     : ones.seen > terms ? ": terms are added twice, or others' terms"
                                         : "",
                     ones.wrong, counted(ones.outputs, "output"));
}

Judgement out_of_bounds(const Measurement& m) {
  // Outputs are poisoned with NaN, and no rounding makes one: `explain` names the same mistake.
  if (m.nan_beyond > 0 && m.nan_beyond == m.beyond_bound)
    return {Verdict::structural,
            count_of(m.nan_beyond, m.outputs) +
                " are NaN where the exact result is a number, all others keep their bound: never written, or "
                "an invalid operation",
            false};
  if (m.nonfinite_mismatch > 0 && m.headroom <= 1)
    return {Verdict::violated,
            count_of(m.nonfinite_mismatch, m.outputs) +
                " are NaN or infinite where the exact result is not, or the reverse",
            false};
  if (misses_exact_sums(m))
    return {
        Verdict::violated,
        count_of(m.beyond_bound, m.outputs) +
            " are not exact, though every sum of these products is, in any order: terms lost or misplaced, "
            "shortened operands, or a transform (Winograd, FFT)",
        false};
  std::string reason = fmt::format("{} lie outside their bound, the worst by a factor of {:.3g}",
                                   count_of(m.beyond_bound, m.outputs), m.headroom);
  if (m.flushed_beyond > 0)
    reason +=
        m.flushed_beyond == m.beyond_bound
            ? "; all of them are zeros where the exact result is subnormal: it flushes subnormals to zero"
            : fmt::format("; {} of them are zeros where the exact result is subnormal", m.flushed_beyond);
  return {Verdict::violated, reason, false};
}

}  // namespace

nlohmann::json to_json(const SumsOfOnes& ones) {
  if (ones.outputs == 0) return {};
  nlohmann::json j{{"outputs", ones.outputs}, {"wrong", ones.wrong}};
  if (ones.wrong > 0)
    j.update({{"first_wrong", ones.first_wrong}, {"terms", ones.terms}, {"seen", json_number(ones.seen)}});
  return j;
}

bool shortens_more(const std::string& effective, Mode mode) {
  if (effective.empty() || effective == "fp32" || effective == "strict" || effective == "unknown")
    return false;
  if (mode == Mode::bf16) return effective == "fp16";  // a narrower range
  if (mode == Mode::fp16) return effective == "bf16";  // fewer bits
  return effective != to_string(mode);
}

Judgement judge(const Evidence& e) {
  if (e.status == "skipped") return {Verdict::skipped, e.reason, false};
  if (e.status != "ok" || !e.measured) return {Verdict::error, e.reason, false};
  const Measurement& m = *e.measured;
  if (m.outputs == 0) return {Verdict::vacuous, "no output was judged", false};
  if (!e.guards_intact)
    return {Verdict::violated, "it wrote outside its output: guard bytes beside it changed", false};
  if (e.unwritten > 0)
    return {Verdict::structural,
            count_of(e.unwritten, e.outputs) + " were never written" + first_at(e.first_unwritten), false};
  if (e.differing > 0) {
    // Each run within its bound: the two are apart by at most the sum of the bounds.
    const bool within = m.beyond_bound == 0 && m.unbounded == 0;
    std::string reason =
        "two runs differ in " + count_of(e.differing, e.outputs) + first_at(e.first_differing);
    if (e.declared_nondeterministic)
      reason += within ? "; declared, and within its bound" : "; declared, but beyond its bound";
    return {Verdict::nondeterministic, reason, e.declared_nondeterministic && within};
  }
  if (e.ones.wrong > 0) return {Verdict::structural, reason_of(e.ones), false};
  if (e.replay && e.replay->compared == m.outputs && e.replay->equal == m.outputs && !e.replay->admitted)
    return {Verdict::violated, "plan '" + e.replay->plan + "' gives these bits: " + e.replay->not_admitted,
            false};
  if (shortens_more(e.effective_mode, e.mode))
    return {Verdict::violated,
            fmt::format("a probe shows operands shortened to {}, but mode {} was asked for", e.effective_mode,
                        to_string(e.mode)),
            false};
  if (m.equal_bits == m.outputs)
    return {Verdict::identical, "every output is the correctly rounded exact result", false};
  if (e.replay && e.replay->compared == m.outputs && e.replay->equal == m.outputs)
    return {
        Verdict::explained,
        "plan '" + e.replay->plan + "' gives the same bits" +
            (e.replay->found && static_cast<std::size_t>(m.outputs) < kFewOutputs
                 ? "; it was found by a search, and " + counted(m.outputs, "output") + " may fit by chance"
                 : ""),
        false};
  if (m.beyond_bound > 0) return out_of_bounds(m);
  if (m.unbounded == m.outputs)
    return {Verdict::vacuous,
            "no finite bound: " + (e.bound_formula.empty() || !e.bound_formula.starts_with("no ")
                                       ? "overflow of a partial sum cannot be excluded for any output"
                                       : e.bound_formula),
            false};
  std::string reason = fmt::format("largest error is {:.3g} of its bound", m.headroom);
  if (m.unbounded > 0)
    reason += "; nothing is claimed of " + count_of(m.unbounded, m.outputs) + ", whose sums may overflow";
  if (e.replay && e.replay->compared > 0 && e.replay->equal < e.replay->compared)
    reason += fmt::format("; its plan gives the same bits in only {}",
                          count_of(e.replay->equal, e.replay->compared));
  return {Verdict::bounded, reason, false};
}

}  // namespace ulpscope
