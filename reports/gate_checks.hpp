#pragma once
// The gate's parts: each looks at one thing and adds findings.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/gate.hpp"

namespace ulpscope {

/// Results of a case by variant and mode.
using CaseResults = std::map<std::pair<std::string, std::string>, const ResultView*>;

std::optional<double> figure_of(Figure figure, const ResultView& r);

struct ResolvedLimit {
  std::optional<double> value, limit;  // both, or `problem`
  std::string problem;
};
/// The figure and what it may be at most. For `bound` both are in units of each output's own bound.
ResolvedLimit resolve(const Limit& limit, const ResultView& r, const CaseResults& same_case);

Finding finding_at(const ResultView& r, Finding::Level level, std::string what, std::string message);

/// The verdict alone, and whether the figures contradict it. `budget` may be null.
void check_verdict(const ResultView& r, const Budget* budget, std::vector<Finding>& findings);

/// Limits, violations, bits and determinism that the budget asks for, of a result that was judged.
void check_budget(const ResultView& r, const Budget& budget, const CaseResults& same_case,
                  std::vector<Finding>& findings);

/// Counts what typed limits need for a result; only for those that are not broken (GateReport::left_out).
void count_needs(const ResultView& r, const Budget& budget, BudgetUse& use);

/// The record against the baseline. `deciding` gives each result's budget or null.
void check_baseline(const RecordView& record, const std::vector<const Budget*>& deciding,
                    const RecordView& baseline, const Difference& changes, std::vector<Finding>& findings);

/// Budgets themselves: unused, shadowed, with too much room, or looser than what a lost term would cause.
void check_use(const RecordView& record, const std::vector<Budget>& budgets, const std::vector<int>& deciding,
               const std::vector<BudgetUse>& uses, std::vector<Finding>& findings);

/// Whether any output was judged.
bool was_judged(const ResultView& r);

}  // namespace ulpscope
