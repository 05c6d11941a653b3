// The gate's findings where reviewers look: GitHub's annotations and step summary, GitLab's code quality.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/inputs.hpp"
#include "reports/gate.hpp"

namespace ulpscope {
namespace {

using Level = Finding::Level;

/// Workflow commands are lines: what would end or split them is written as percent codes.
std::string escaped(const std::string& text, bool property) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '%':
        out += "%25";
        break;
      case '\r':
        out += "%0D";
        break;
      case '\n':
        out += "%0A";
        break;
      case ':':
        out += property ? "%3A" : ":";
        break;
      case ',':
        out += property ? "%2C" : ",";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string title_of(const Finding& f) {
  return f.what + (f.test.empty() ? "" : " " + f.test + " " + f.variant + " " + f.mode);
}

/// A cell of a Markdown table, in which names may hold anything.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '_' || c == '`' || c == '[' || c == '\\') out += '\\';
    if (c == '<') {
      out += "&lt;";
    } else {
      out += c == '\n' || c == '\r' ? ' ' : c;
    }
  }
  return out;
}

bool shown_to_reviewers(const Finding& f) {
  return f.level != Level::note;
}

}  // namespace

std::string github_annotations(const GateReport& report) {
  constexpr int kShown = 10;  // GitHub shows that many of each kind in a step
  std::string out;
  int errors = 0, warnings = 0;
  for (const Finding& f : summarised(report.findings)) {
    if (!shown_to_reviewers(f)) continue;
    const bool warning = f.level == Level::warning;
    if ((warning ? warnings : errors)++ >= kShown) continue;
    out += warning ? "::warning " : "::error ";
    if (!f.file.empty()) out += fmt::format("file={},line={},", escaped(f.file, true), f.line);
    out += fmt::format("title={}::{}\n", escaped(title_of(f), true), escaped(with_details(f, "\n"), false));
  }
  if (errors > kShown || warnings > kShown)
    out += fmt::format(
        "::notice title=ulpscope gate::{} errors and {} warnings in all: the step summary has "
        "them\n",
        errors, warnings);
  return out;
}

std::string github_summary(const GateReport& report, std::size_t most_bytes) {
  std::string out = fmt::format("## Numerical gate: {}\n\n", report.exit_code == 0   ? "passed"
                                                             : report.exit_code == 3 ? "not verified"
                                                                                     : "failed");
  out += fmt::format("{} passed, {} failures, {} not verified, {} warnings.\n\n", report.tally.passed,
                     report.failures, report.unverified, report.warnings);
  if (report.findings.empty()) return out;
  out += "| | what | case | variant | mode | |\n| --- | --- | --- | --- | --- | --- |\n";
  const std::vector<Finding> findings = summarised(report.findings);
  std::size_t left = findings.size();
  for (const Finding& f : findings) {
    const std::string line =
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", to_string(f.level), cell(f.what), cell(f.test),
                    cell(f.variant), cell(f.mode), cell(with_details(f, "; ")));
    if (out.size() + line.size() + 100 > most_bytes) break;
    out += line;
    --left;
  }
  if (left > 0) out += fmt::format("\n{} more are in the gate's JSON.\n", left);
  return out;
}

std::string gitlab_code_quality(const GateReport& report) {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& f : report.findings) {
    if (!shown_to_reviewers(f)) continue;
    // The fingerprint stays while the finding does, so figures are no part of it.
    const std::string identity = f.what + "\n" + f.test + "\n" + f.variant + "\n" + f.mode + "\n" + f.file;
    list.push_back(
        {{"description", title_of(f) + ": " + with_details(f, "; ")},
         {"check_name", "ulpscope." + f.what},
         {"fingerprint", hash_bytes(identity.data(), identity.size(), 1)},
         {"severity", f.level == Level::failure      ? "critical"
                      : f.level == Level::unverified ? "major"
                                                     : "minor"},
         {"location", {{"path", f.file.empty() ? report.record : f.file}, {"lines", {{"begin", f.line}}}}}});
  }
  return list.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace ulpscope
