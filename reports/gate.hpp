#pragma once
// The gate: a record against budgets and, if there is one, a baseline. Pure functions over plain structs.
// Nothing is ratcheted: what got better is listed, and a proposal is a file that somebody reviews.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reports/budget.hpp"
#include "reports/difference.hpp"
#include "reports/record_view.hpp"

namespace ulpscope {

struct Finding {
  enum class Level : std::uint8_t { failure, unverified, warning, note };
  Level level = Level::note;
  /// One of: error verdict contradiction over_budget unresolved_limit bits missing worse (failures; so is
  /// anything not verifiable that a budget requires); not_run (unverified); no_budget unused_budget
  /// loose_budget refuted_plan headroom inputs_changed no_longer_explained worse_mean (warnings); better
  /// worse_allowed bits_changed allowed new skipped environment (notes).
  std::string what;
  std::string test, variant, mode;  // "" where it concerns a budget or the environment
  std::string file;                 // the variant's source, or the file of budgets
  int line = 1;
  std::string message;  // one line
  struct Detail {
    std::string what, message;
  };
  /// Of a result whose verdict fails: what else it fails, all of one cause.
  std::vector<Detail> details{};
};
const char* to_string(Finding::Level level);

/// What became of one budget.
struct BudgetUse {
  std::int64_t matched = 0, decided = 0;  // results; a later rule may decide what this one matches
  struct Need {
    double limit = 0, worst = 0;  // of a typed limit: the largest figure among the results that count
    std::int64_t results = 0;
    std::string of;  // the result with that figure
  };
  std::vector<Need> needs;  // per limit of the budget
};

struct GateReport {
  std::vector<Finding> findings;  // by level, then in the record's order
  std::vector<BudgetUse> uses;    // per budget
  /// Per result why no limit is fitted to it: it is broken, not just beyond a limit. "" where it counts.
  std::vector<std::string> left_out;
  VerdictTally tally;
  std::int64_t failures = 0, unverified = 0, warnings = 0;
  /// 2 if a result is an error; else 1 if anything fails; else 3 if nothing passed, or something that the
  /// baseline holds a pass of was not run; else 0.
  int exit_code = 3;
  bool has_baseline = false;
  Difference changes;  // against the baseline
  std::string record, budgets, baseline;
};

/// `baseline` may be null. Names of files for the report are those of the views and budgets.
GateReport gate(const RecordView& record, const std::vector<Budget>& budgets, const RecordView* baseline);

/// The findings as people read them: results without a budget, and those skipped for one reason, in one each.
std::vector<Finding> summarised(const std::vector<Finding>& findings);
/// The message and what else the result fails.
std::string with_details(const Finding& finding, const std::string& between);

/// For people: the verdict first. At most `most` findings of a kind.
std::string render_gate(const GateReport& report, std::size_t most = 20);
nlohmann::json to_json(const GateReport& report);  // schema "ulpscope.gate/1", all findings

/// Workflow commands that GitHub shows at the variant's file: ten errors and ten warnings, as many as it
/// shows.
std::string github_annotations(const GateReport& report);
/// Markdown for $GITHUB_STEP_SUMMARY, cut at a line below `most_bytes`.
std::string github_summary(const GateReport& report, std::size_t most_bytes = 1000 * 1000);
/// GitLab's code quality report: failures and warnings.
std::string gitlab_code_quality(const GateReport& report);

/// New budgets for review: failing limits raised to what was measured, limits with more than a factor of two
/// to spare lowered, budgets added for results without one. Broken results do not count;
/// comments name them. Each change leaves `reason` and `owner` empty, so the file is not accepted
/// before somebody answers for it.
std::string propose_budgets(const RecordView& record, const std::vector<Budget>& budgets,
                            const GateReport& report, const std::string& today);

/// The record for review as a new baseline: its passing results, and the old baseline's for the others. The
/// views must still hold their `raw` documents.
nlohmann::json propose_baseline(const RecordView& record, const RecordView* baseline);

}  // namespace ulpscope
