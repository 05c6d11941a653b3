// The gate's report as text and JSON.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "reference/counted.hpp"
#include "reports/gate.hpp"

namespace ulpscope {
namespace {

const char* sentence(int exit_code) {
  switch (exit_code) {
    case 0:
      return "passed";
    case 1:
      return "FAILED";
    case 2:
      return "ERROR: the harness or the device failed";
    default:
      return "NOT VERIFIED: nothing passed, or what the baseline holds was not run";
  }
}

std::string place(const Finding& f) {
  if (f.test.empty()) return "";
  return f.test + " " + f.variant + " " + f.mode + ": ";
}

}  // namespace

std::vector<Finding> summarised(const std::vector<Finding>& findings) {
  struct Group {
    std::size_t at = 0;
    std::int64_t results = 0;
  };
  std::vector<Finding> list;
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const Finding& f : findings) {
    if (f.what != "no_budget" && f.what != "skipped") {
      list.push_back(f);
      continue;
    }
    Group& g = groups[{f.what, f.message}];
    if (g.results++ == 0) {
      g.at = list.size();
      list.push_back(f);
    }
  }
  for (const auto& [key, g] : groups) {
    if (g.results == 1) continue;
    Finding& f = list[g.at];
    f.message = fmt::format("{} results, the first {}{}", g.results, place(f), f.message);
    f.test = f.variant = f.mode = f.file = "";
  }
  return list;
}

std::string with_details(const Finding& finding, const std::string& between) {
  std::string all = finding.message;
  for (const Finding::Detail& d : finding.details) all += between + "also " + d.what + ": " + d.message;
  return all;
}

std::string render_gate(const GateReport& r, std::size_t most) {
  std::string out = fmt::format("gate: {} ({}, {} not verified, {})\n", sentence(r.exit_code),
                                counted(r.failures, "failure"), r.unverified, counted(r.warnings, "warning"));
  out += fmt::format("{}: {} passed, {} failed, {} neither, {} errors", r.record, r.tally.passed,
                     r.tally.failed, r.tally.neither, r.tally.errors);
  if (!r.budgets.empty()) out += "; budgets " + r.budgets;
  if (r.has_baseline) out += "; baseline " + r.baseline;
  out += "\n";
  std::map<std::string, std::size_t> of_kind, shown;
  const std::vector<Finding> findings = summarised(r.findings);
  for (const Finding& f : findings) ++of_kind[f.what];
  for (const Finding& f : findings) {
    const std::size_t n = ++shown[f.what];
    if (n > most) {
      if (n == most + 1)
        out += fmt::format("{:<10} {}: ... and {} more (--json has all)\n", to_string(f.level), f.what,
                           of_kind[f.what] - most);
      continue;
    }
    const bool of_budget = f.level == Finding::Level::warning && f.file.ends_with(".toml");
    out += fmt::format("{:<10} {}: {}{}{}\n", to_string(f.level), f.what,
                       of_budget ? fmt::format("{}:{}: ", f.file, f.line) : "", place(f),
                       with_details(f, "\n" + std::string(11, ' ')));
  }
  return out;
}

nlohmann::json to_json(const GateReport& r) {
  nlohmann::json findings = nlohmann::json::array();
  for (const Finding& f : r.findings) {
    nlohmann::json details = nlohmann::json::array();
    for (const Finding::Detail& d : f.details) details.push_back({{"what", d.what}, {"message", d.message}});
    findings.push_back({{"level", to_string(f.level)},
                        {"what", f.what},
                        {"case", f.test},
                        {"variant", f.variant},
                        {"mode", f.mode},
                        {"file", f.file},
                        {"line", f.line},
                        {"message", f.message},
                        {"details", details}});
  }
  nlohmann::json uses = nlohmann::json::array();
  for (const BudgetUse& u : r.uses) uses.push_back({{"matched", u.matched}, {"decided", u.decided}});
  return {{"schema", "ulpscope.gate/1"},
          {"exit_code", r.exit_code},
          {"failures", r.failures},
          {"unverified", r.unverified},
          {"warnings", r.warnings},
          {"passed", r.tally.passed},
          {"record", r.record},
          {"budgets_file", r.budgets.empty() ? nlohmann::json() : nlohmann::json(r.budgets)},
          {"baseline", r.has_baseline ? nlohmann::json(r.baseline) : nlohmann::json()},
          {"budgets", uses},
          {"findings", findings},
          {"changes", r.has_baseline ? to_json(r.changes) : nlohmann::json()}};
}

}  // namespace ulpscope
