#include "reports/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "reports/gate_checks.hpp"

namespace ulpscope {

using Level = Finding::Level;

const char* to_string(Level level) {
  switch (level) {
    case Level::failure:
      return "failure";
    case Level::unverified:
      return "unverified";
    case Level::warning:
      return "warning";
    case Level::note:
      return "note";
  }
  return "?";
}

namespace {

/// Which budget decides each result, -1 for none; counts what each budget matched.
std::vector<int> decide(const RecordView& record, const std::vector<Budget>& budgets,
                        std::vector<BudgetUse>& uses) {
  std::vector<int> deciding;
  deciding.reserve(record.results.size());
  for (const ResultView& r : record.results) {
    int last = -1;
    for (std::size_t i = 0; i < budgets.size(); ++i)
      if (budgets[i].matches(r.test, r.variant, r.mode)) {
        ++uses[i].matched;
        last = static_cast<int>(i);
      }
    if (last >= 0) ++uses[static_cast<std::size_t>(last)].decided;
    deciding.push_back(last);
  }
  return deciding;
}

/// Why no limit is fitted to a result: its verdict fails, its figures contradict its words, or bits it was
/// asked for are wrong. Limits that it exceeds, and what was asked for and not tried, are no reason. "" if
/// there is none.
std::string why_left_out(const ResultView& r, const Budget* budget, const std::vector<Finding>& own) {
  const bool wrong_bits = budget && ((budget->bits_of_batch && r.batch_identical == false) ||
                                     (budget->bits_of_plan && r.bit_identical.value_or(1) < 1));
  std::string wrong;
  for (const Finding& f : own)
    if (f.level == Level::failure) {
      if (f.what == "verdict" || f.what == "error") return f.message;
      if (f.what == "contradiction" || (f.what == "bits" && wrong_bits))
        wrong += (wrong.empty() ? "" : "; ") + f.what + ": " + f.message;
    }
  if (!wrong.empty()) return wrong;
  // A budget may allow a failing verdict; its figures are still no measure of others.
  return fails(r) ? fmt::format("{}: {}", to_string(r.verdict), r.reason) : "";
}

/// What a result with a failing verdict fails besides goes under that: one cause, one finding.
void fold_into_verdicts(std::vector<Finding>& findings) {
  using Key = std::tuple<std::string, std::string, std::string>;
  const auto key = [](const Finding& f) { return Key{f.test, f.variant, f.mode}; };
  std::map<Key, std::size_t> verdicts;
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (findings[i].what == "verdict" || findings[i].what == "error") verdicts.emplace(key(findings[i]), i);
  std::vector<Finding> kept;
  std::map<Key, std::size_t> kept_at;
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (const auto at = verdicts.find(key(findings[i])); at != verdicts.end() && at->second == i) {
      kept_at[at->first] = kept.size();
      kept.push_back(std::move(findings[i]));
    } else if (at != verdicts.end() && findings[i].level == Level::failure) {
      kept[kept_at.at(at->first)].details.push_back({findings[i].what, findings[i].message});
    } else {
      kept.push_back(std::move(findings[i]));
    }
  findings = std::move(kept);
}

}  // namespace

GateReport gate(const RecordView& record, const std::vector<Budget>& budgets, const RecordView* baseline) {
  GateReport report;
  report.record = record.name;
  if (!budgets.empty()) report.budgets = budgets.front().file;
  report.tally = tally(record);
  report.uses.resize(budgets.size());
  const std::vector<int> deciding = decide(record, budgets, report.uses);
  std::vector<const Budget*> budget_of;
  for (const int i : deciding) budget_of.push_back(i < 0 ? nullptr : &budgets[static_cast<std::size_t>(i)]);

  auto& findings = report.findings;
  std::map<std::string_view, CaseResults> by_case;
  for (const ResultView& r : record.results) by_case[r.test][{r.variant, r.mode}] = &r;
  for (std::size_t i = 0; i < record.results.size(); ++i) {
    const ResultView& r = record.results[i];
    std::vector<Finding> own;
    check_verdict(r, budget_of[i], own);
    if (was_judged(r) && budget_of[i]) check_budget(r, *budget_of[i], by_case[r.test], own);
    const std::string& left_out = report.left_out.emplace_back(why_left_out(r, budget_of[i], own));
    if (was_judged(r) && budget_of[i] && left_out.empty())
      count_needs(r, *budget_of[i], report.uses[static_cast<std::size_t>(deciding[i])]);
    if (was_judged(r) && !budget_of[i] && !budgets.empty())
      own.push_back(finding_at(r, Level::warning, "no_budget", "no budget is set for this result"));
    findings.insert(findings.end(), own.begin(), own.end());
  }
  check_use(record, budgets, deciding, report.uses, findings);
  if (baseline) {
    report.has_baseline = true;
    report.baseline = baseline->name;
    report.changes = difference(*baseline, record);
    check_baseline(record, budget_of, *baseline, report.changes, findings);
  } else {
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      const Budget& b = budgets[i];
      if (b.bits_of_baseline && report.uses[i].decided > 0)
        findings.push_back(
            {Level::failure, "bits", b.case_pattern, b.variant_pattern, b.mode_pattern, b.file, b.line,
             "the baseline's bits are promised, but no baseline is given: add --baseline RECORD"});
    }
  }
  fold_into_verdicts(findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& x, const Finding& y) { return x.level < y.level; });
  bool passed = false;  // a result that passes, or one whose verdict its budget allows
  for (std::size_t i = 0; i < record.results.size(); ++i) {
    const ResultView& r = record.results[i];
    passed |= passes(r.verdict) || (budget_of[i] && was_judged(r) && budget_of[i]->allows(r.verdict));
  }
  for (const Finding& f : findings) {
    report.failures += f.level == Level::failure;
    report.unverified += f.level == Level::unverified;
    report.warnings += f.level == Level::warning;
  }
  report.exit_code = report.tally.errors > 0            ? 2
                     : report.failures > 0              ? 1
                     : !passed || report.unverified > 0 ? 3
                                                        : 0;
  return report;
}

}  // namespace ulpscope
