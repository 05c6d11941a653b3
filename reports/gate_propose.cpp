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

std::string comment(std::string line) {
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return "# " + line + "\n";
}

/// Which results no limit was fitted to, and why. The gate's findings have them all.
void add_left_out(const std::vector<std::string>& left_out, std::vector<std::string>& comments) {
  constexpr std::size_t kNamed = 10;
  for (std::size_t i = 0; i < left_out.size() && i < kNamed; ++i)
    comments.push_back("left out: " + left_out[i]);
  if (left_out.size() > kNamed)
    comments.push_back(fmt::format("left out: {} more, see the gate's findings", left_out.size() - kNamed));
}

/// The limits of `b` fitted to what they need, with a comment for each; whether any changed.
bool fit(Budget& b, const BudgetUse& use, std::vector<std::string>& comments) {
  bool changed = false;
  for (std::size_t k = 0; k < b.limits.size() && k < use.needs.size(); ++k) {
    const BudgetUse::Need& need = use.needs[k];
    if (need.results == 0) continue;
    if (!std::isfinite(need.worst)) {
      comments.push_back(
          fmt::format("no {} fits: {} has {}", to_string(b.limits[k].figure), need.of, need.worst));
      continue;
    }
    const bool too_low = !(need.worst <= need.limit), too_high = need.limit > 2 * need.worst;
    const double proposed = with_room(need.worst);
    if ((!too_low && !too_high) || proposed == need.limit) continue;
    comments.push_back(fmt::format("{} {} from {:.4g}: the largest of {} is {:.4g} ({})",
                                   to_string(b.limits[k].figure), too_low ? "RAISED" : "lowered", need.limit,
                                   counted(need.results, "result"), need.worst, need.of));
    b.limits[k].factor = proposed;
    changed = true;
  }
  return changed;
}

bool has_typed_limit(const Budget& b) {
  return std::any_of(b.limits.begin(), b.limits.end(),
                     [](const Limit& l) { return l.base == Limit::Base::number; });
}

}  // namespace

std::string propose_budgets(const RecordView& record, const std::vector<Budget>& budgets,
                            const GateReport& report, const std::string& today) {
  std::string out = fmt::format(
      "# Proposed from {} on {}. Changed and new budgets have no reason and no owner yet: whoever accepts "
      "one "
      "fills\n# them in; until then this file is refused. Limits are fitted to results that fail nothing "
      "else.\n",
      report.record, today);
  std::vector<std::vector<std::string>> left_out(budgets.size());
  std::vector<std::string> new_left_out;  // of results without a budget
  for (std::size_t i = 0; i < record.results.size(); ++i) {
    if (report.left_out[i].empty()) continue;
    const ResultView& r = record.results[i];
    const int at = deciding_budget(budgets, r.test, r.variant, r.mode);
    (at < 0 ? new_left_out : left_out[static_cast<std::size_t>(at)])
        .push_back(r.key() + ": " + report.left_out[i]);
  }
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    Budget b = budgets[i];
    std::vector<std::string> comments;
    if (report.uses[i].matched == 0) comments.emplace_back("matches nothing: remove it?");
    const bool changed = fit(b, report.uses[i], comments);
    if (has_typed_limit(b)) add_left_out(left_out[i], comments);
    out += "\n" + to_toml(changed ? unanswered(b, today) : b, comments);
  }
  for (std::size_t i = 0; i < record.results.size(); ++i) {
    const ResultView& r = record.results[i];
    if (!passes(r.verdict) || !report.left_out[i].empty() ||
        deciding_budget(budgets, r.test, r.variant, r.mode) >= 0)
      continue;
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
  std::vector<std::string> comments;
  add_left_out(new_left_out, comments);
  if (!comments.empty()) out += "\n# Without a budget, and none is proposed for what fails:\n";
  for (const std::string& line : comments) out += comment(line);
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
