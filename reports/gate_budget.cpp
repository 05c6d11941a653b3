// One result against its budget.
#include <fmt/format.h>

#include <cmath>

#include "reports/gate_checks.hpp"

namespace ulpscope {
namespace {

using Level = Finding::Level;

std::string allowed_by(const Budget& b) {
  return fmt::format("{}:{}, {}", b.file, b.line, b.owner);
}

bool is_vendor(const ResultView& r) {
  return r.source.starts_with("kernels/vendor/");
}

/// The figure of another result of the case, for limits such as "2x cudnn:strict".
ResolvedLimit of_result(const Limit& limit, const CaseResults& same_case) {
  std::optional<double> least;
  bool seen = false;
  for (auto& [key, other] : same_case) {
    if (key.second != limit.mode) continue;
    if (limit.variant == "vendor" ? !is_vendor(*other) : key.first != limit.variant) continue;
    seen = true;
    const auto figure = figure_of(limit.figure, *other);
    if (!passes(other->verdict) || !figure || std::isnan(*figure)) continue;
    if (!least || *figure < *least) least = figure;
  }
  if (least) return {{}, limit.factor * *least, ""};
  return {{},
          {},
          fmt::format("{}:{} {} for this case", limit.variant, limit.mode,
                      seen ? "has not passed" : "has no result")};
}

void check_limit(const Limit& limit, const ResultView& r, const Budget& budget, const CaseResults& same_case,
                 std::vector<Finding>& findings) {
  const ResolvedLimit resolved = resolve(limit, r, same_case);
  if (!resolved.problem.empty()) {
    findings.push_back(finding_at(r, Level::failure, "unresolved_limit",
                                  fmt::format("{} = {} cannot be checked: {} ({})", to_string(limit.figure),
                                              to_string(limit), resolved.problem, allowed_by(budget))));
    return;
  }
  const double value = *resolved.value, most = *resolved.limit;
  if (value <= most) return;  // NaN fails
  const bool typed = limit.base == Limit::Base::number;
  findings.push_back(
      finding_at(r, Level::failure, "over_budget",
                 fmt::format("{} is {:.4g}{}, the budget allows {}{} ({})", to_string(limit.figure), value,
                             limit.base == Limit::Base::bound ? " of its bound" : "",
                             typed ? fmt::format("{:.4g}", most) : to_string(limit),
                             typed || limit.base == Limit::Base::bound ? "" : fmt::format(" = {:.4g}", most),
                             allowed_by(budget))));
}

void check_violations(const ResultView& r, const Budget& budget, std::vector<Finding>& findings) {
  const ViolationLimit& limit = *budget.violations;
  const bool counted = r.error && r.error->violations && r.error->atol.value_or(0) == limit.atol &&
                       r.error->rtol.value_or(0) == limit.rtol;
  if (!counted) {
    findings.push_back(finding_at(
        r, Level::failure, "unresolved_limit",
        fmt::format("violations of atol {:g}, rtol {:g} were not counted: give the case this tolerance ({})",
                    limit.atol, limit.rtol, allowed_by(budget))));
  } else if (*r.error->violations > limit.most) {
    findings.push_back(finding_at(
        r, Level::failure, "over_budget",
        fmt::format("{} outputs violate atol {:g}, rtol {:g}; the budget allows {} ({})",
                    *r.error->violations, limit.atol, limit.rtol, limit.most, allowed_by(budget))));
  }
}

/// What a replay of the plan gave, as counts: the record holds a share.
std::string replayed(const ResultView& r) {
  if (!r.bit_identical || r.replayed_outputs <= 0) return "it was not replayed";
  const std::int64_t equal = std::llround(*r.bit_identical * static_cast<double>(r.replayed_outputs));
  const std::string of =
      r.replayed_outputs == r.judged_outputs
          ? "replayed"
          : fmt::format("replayed on {} of {} outputs", r.replayed_outputs, r.judged_outputs);
  return fmt::format("{}, it gave {} of {}", of, equal, r.replayed_outputs);
}

void check_bits(const ResultView& r, const Budget& budget, std::vector<Finding>& findings) {
  const auto fail = [&](const std::string& message) {
    findings.push_back(finding_at(r, Level::failure, "bits", message + " (" + allowed_by(budget) + ")"));
  };
  if (budget.bits_of_runs && r.runs_identical != true)
    fail(r.runs_identical
             ? fmt::format("two runs must give the same bits, but {} outputs differ", r.runs_differing)
             : "two runs must give the same bits, but the record does not hold two runs");
  if (budget.bits_of_batch && r.batch_identical == false)
    fail("the bits must not depend on the batch, but they do");
  if (budget.bits_of_batch && !r.batch_identical) {
    if (r.batch_not_applicable.empty())
      fail(
          "the bits must not depend on the batch, but no other batch was tried: 'ulpscope invariance "
          "--record RECORD' does, or adds why there is none");
    else
      findings.push_back(finding_at(r, Level::note, "not_applicable",
                                    fmt::format("no other batch to give the same bits: {} ({})",
                                                r.batch_not_applicable, allowed_by(budget))));
  }
  if (budget.bits_of_plan) {
    if (r.declared_plan.empty())
      fail("the declared plan must give every bit, but none is declared");
    else if (r.bit_identical != 1.0 || r.replayed_outputs != r.judged_outputs || r.plan.empty())
      fail(
          fmt::format("the declared plan '{}' must give every judged bit: {}", r.declared_plan, replayed(r)));
  }
  if (budget.deterministic) {
    bool declared = r.verdict == Verdict::nondeterministic;
    for (const std::string& note : r.notes) declared |= note.find("NONDETERMINISTIC") != std::string::npos;
    if (declared) fail("determinism is required, but run-to-run differences were seen or declared");
  }
}

}  // namespace

std::optional<double> figure_of(Figure figure, const ResultView& r) {
  if (!r.error) return {};
  switch (figure) {
    case Figure::max_scaled:
      return r.error->max_scaled;
    case Figure::max_abs:
      return r.error->max_abs;
    case Figure::p50_ulp:
      return r.error->p50_ulp;
    case Figure::p99_ulp:
      return r.error->p99_ulp;
    case Figure::p999_ulp:
      return r.error->p999_ulp;
  }
  return {};
}

ResolvedLimit resolve(const Limit& limit, const ResultView& r, const CaseResults& same_case) {
  ResolvedLimit resolved;
  if (limit.base == Limit::Base::bound) {
    // Where every bit is accounted for, outputs without a bound (their sums may overflow) need none.
    const bool predicted = r.verdict == Verdict::identical || r.verdict == Verdict::explained;
    if (!r.error || !r.error->headroom || (r.error->unbounded > 0 && !predicted))
      return {{}, {}, "not every output has a bound"};
    return {r.error->headroom, limit.factor, ""};
  }
  if (limit.base == Limit::Base::result) resolved = of_result(limit, same_case);
  if (limit.base == Limit::Base::number) resolved.limit = limit.factor;
  if (limit.base == Limit::Base::expected_max) {
    if (r.expected_max)
      resolved.limit = limit.factor * *r.expected_max;
    else
      resolved.problem = "no expectation exists for this arithmetic";
  }
  if (!resolved.problem.empty()) return resolved;
  resolved.value = figure_of(limit.figure, r);
  if (!resolved.value) resolved.problem = "the record does not hold this figure";
  return resolved;
}

Finding finding_at(const ResultView& r, Level level, std::string what, std::string message) {
  for (char& c : message)
    if (c == '\n' || c == '\r') c = ' ';
  return {level, std::move(what), r.test, r.variant, r.mode, r.source, 1, std::move(message)};
}

bool was_judged(const ResultView& r) {
  return r.verdict != Verdict::skipped && r.verdict != Verdict::vacuous && r.verdict != Verdict::error;
}

void check_verdict(const ResultView& r, const Budget* budget, std::vector<Finding>& findings) {
  const std::string said = fmt::format("{}: {}", to_string(r.verdict), r.reason);
  if (r.verdict == Verdict::error) {
    findings.push_back(finding_at(r, Level::failure, "error", said));
  } else if (!was_judged(r)) {
    findings.push_back(finding_at(r, Level::note, "skipped", said));
  } else if (budget && !budget->allows(r.verdict) && !(r.excused && r.verdict == Verdict::nondeterministic)) {
    std::string allowed;
    for (const Verdict v : budget->verdicts)
      allowed += (allowed.empty() ? "" : ", ") + std::string(to_string(v));
    const std::string only = passes(r.verdict) ? "; the budget allows only " + allowed : "";
    findings.push_back(
        finding_at(r, Level::failure, "verdict", said + only + " (" + allowed_by(*budget) + ")"));
  } else if (!passes(r.verdict) && !r.excused) {
    if (budget)
      findings.push_back(
          finding_at(r, Level::note, "allowed",
                     fmt::format("{}; allowed by {}: {}", said, allowed_by(*budget), budget->reason)));
    else
      findings.push_back(finding_at(r, Level::failure, "verdict", said));
  }
  if (!passes(r.verdict)) return;
  // A record whose words and figures disagree was altered, or written by a broken program.
  std::string against;
  if (!r.error || r.judged_outputs <= 0) {
    against = "it holds no judged outputs";
  } else if (r.verdict == Verdict::bounded &&
             (r.error->beyond_bound > 0 || r.error->nonfinite_mismatch > 0)) {
    against = fmt::format("{} outputs lie beyond their bound",
                          std::max(r.error->beyond_bound, r.error->nonfinite_mismatch));
  } else if (r.verdict == Verdict::bounded && !(r.error->headroom.value_or(NAN) <= 1)) {
    against = "its largest error is not within its bound";
  } else if (r.verdict == Verdict::identical && r.error->equal_bits != r.judged_outputs) {
    against = fmt::format("only {} of {} outputs are the exact ones", r.error->equal_bits, r.judged_outputs);
  } else if (r.verdict == Verdict::explained && (r.plan.empty() || r.bit_identical != 1.0)) {
    against = "no plan gave all its bits";
  } else if (r.runs_identical == false) {
    against = "its two runs differ";
  }
  if (!against.empty())
    findings.push_back(
        finding_at(r, Level::failure, "contradiction",
                   fmt::format("the record calls it {}, but {}", to_string(r.verdict), against)));
}

void count_needs(const ResultView& r, const Budget& budget, BudgetUse& use) {
  use.needs.resize(budget.limits.size());
  for (std::size_t i = 0; i < budget.limits.size(); ++i) {
    const Limit& limit = budget.limits[i];
    const auto figure = figure_of(limit.figure, r);
    if (limit.base != Limit::Base::number || !figure || std::isnan(*figure)) continue;
    BudgetUse::Need& need = use.needs[i];
    need.limit = limit.factor;
    if (need.results++ > 0 && !(*figure > need.worst)) continue;
    need.worst = *figure;
    need.of = r.key();
  }
}

void check_budget(const ResultView& r, const Budget& budget, const CaseResults& same_case,
                  std::vector<Finding>& findings) {
  for (const Limit& limit : budget.limits) check_limit(limit, r, budget, same_case, findings);
  if (budget.violations) check_violations(r, budget, findings);
  check_bits(r, budget, findings);
}

}  // namespace ulpscope
