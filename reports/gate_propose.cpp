// What a reviewer may accept: changed budgets, or a new baseline. Nothing here replaces a file in use.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "reference/counted.hpp"
#include "reference/error.hpp"
#include "reports/gate_checks.hpp"

namespace ulpscope {
namespace {

using Level = Finding::Level;

/// Two digits, upwards, with a quarter to spare: another machine's tail may be a little longer.
double with_room(double figure) {
  if (figure == 0) return 0;
  const double wanted = 1.25 * figure, unit = std::pow(10.0, std::floor(std::log10(wanted)) - 1);
  return std::stod(fmt::format("{:.1e}", std::ceil(wanted / unit) * unit));
}

/// A changed or new rule is nobody's yet.
Budget unanswered(Budget b, const std::string& today) {
  b.date = today;
  b.reason.clear();
  b.owner.clear();
  return b;
}

}  // namespace

std::string propose_budgets(const RecordView& record, const std::vector<Budget>& budgets,
                            const GateReport& report, const std::string& today) {
  std::string out = fmt::format(
      "# Proposed from {} on {}. Changed and new budgets have no reason and no owner yet: whoever accepts "
      "one "
      "fills\n# them in; until then this file is refused.\n",
      report.record, today);
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    Budget b = budgets[i];
    std::vector<std::string> comments;
    if (report.uses[i].matched == 0) comments.emplace_back("matches nothing: remove it?");
    for (std::size_t k = 0; k < b.limits.size() && k < report.uses[i].needs.size(); ++k) {
      const BudgetUse::Need& need = report.uses[i].needs[k];
      if (need.results == 0 || !std::isfinite(need.worst)) continue;
      const bool too_low = !(need.worst <= need.limit), too_high = need.limit > 2 * need.worst;
      const double proposed = with_room(need.worst);
      if ((!too_low && !too_high) || proposed == need.limit) continue;
      comments.push_back(fmt::format("{} {} from {:.4g}: the largest of {} is {:.4g}",
                                     to_string(b.limits[k].figure), too_low ? "RAISED" : "lowered",
                                     need.limit, counted(need.results, "result"), need.worst));
      b.limits[k].factor = proposed;
    }
    const bool changed = !comments.empty() && report.uses[i].matched > 0;
    out += "\n" + to_toml(changed ? unanswered(b, today) : b, comments);
  }
  for (const ResultView& r : record.results) {
    if (!passes(r.verdict) || deciding_budget(budgets, r.test, r.variant, r.mode) >= 0) continue;
    const auto scaled = figure_of(Figure::max_scaled, r);
    Budget b;
    b.case_pattern = r.test;
    b.variant_pattern = r.variant;
    b.mode_pattern = r.mode;
    Limit limit;
    limit.base = Limit::Base::bound;
    if (scaled && std::isfinite(*scaled)) {
      limit.base = Limit::Base::number;
      limit.factor = with_room(*scaled);
    }
    b.limits.push_back(limit);
    out += "\n" + to_toml(unanswered(b, today), {"NEW: had no budget"});
  }
  return out;
}

nlohmann::json propose_baseline(const RecordView& record, const RecordView* baseline) {
  using Key = std::tuple<std::string, std::string, std::string>;
  if (!record.raw || (baseline && !baseline->raw)) throw Error("a baseline is proposed from whole records");
  std::map<Key, nlohmann::json> rows;
  const auto take = [&](const RecordView& from, bool all) {
    const nlohmann::json& list = from.raw->at("results");
    for (std::size_t i = 0; i < from.results.size(); ++i) {
      const ResultView& r = from.results[i];
      if (all || passes(r.verdict) || r.excused) rows[{r.test, r.variant, r.mode}] = list.at(i);
    }
  };
  if (baseline) take(*baseline, true);
  take(record, false);
  nlohmann::json proposed{{"schema", "ulpscope.run/1"},
                          {"environment", record.raw->at("environment")},
                          {"results", nlohmann::json::array()}};
  for (auto& [key, row] : rows) {
    row.erase("explanation");  // a baseline is kept in version control
    proposed["results"].push_back(std::move(row));
  }
  return proposed;
}

}  // namespace ulpscope
