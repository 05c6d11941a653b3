#include "reports/gate.hpp"

#include <algorithm>
#include <map>
#include <string_view>

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
    check_verdict(r, budget_of[i], findings);
    if (!was_judged(r)) continue;
    if (budget_of[i])
      check_budget(r, *budget_of[i], by_case[r.test], report.uses[static_cast<std::size_t>(deciding[i])],
                   findings);
    else if (!budgets.empty())
      findings.push_back(finding_at(r, Level::warning, "no_budget", "no budget is set for this result"));
  }
  check_use(record, budgets, deciding, report.uses, findings);
  if (baseline) {
    report.has_baseline = true;
    report.baseline = baseline->name;
    report.changes = difference(*baseline, record);
    check_baseline(record, budget_of, *baseline, report.changes, findings);
  }
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
