#include "reports/words.hpp"
#include "reference/counted.hpp"

#include <fmt/format.h>

#include <cmath>

namespace ulpscope {
namespace {

std::string named(const ResultView& r) {
  return fmt::format("{} ({}) on {}", r.variant, r.mode, r.test);
}

std::string neither_words(const RecordView& record) {
  const VerdictTally t = tally(record);
  std::string words;
  auto add = [&](std::int64_t n, const char* what) {
    if (n > 0) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", n, what);
  };
  add(t.of(Verdict::skipped), "skipped");
  add(t.of(Verdict::vacuous), "vacuous");
  add(t.excused, "nondeterministic as declared");
  return words;
}

const ResultView* first_with(const RecordView& record, Standing s) {
  for (const ResultView& r : record.results)
    if (standing(r) == s) return &r;
  return nullptr;
}

}  // namespace

Standing standing(const ResultView& r) {
  switch (r.verdict) {
    case Verdict::error:
      return Standing::error;
    case Verdict::skipped:
      return Standing::skip;
    case Verdict::vacuous:
      return Standing::vacuous;
    case Verdict::nondeterministic:
      return r.excused ? Standing::excused : Standing::fail;
    case Verdict::identical:
    case Verdict::explained:
    case Verdict::bounded:
      return r.error && r.judged_outputs > 0 ? Standing::pass : Standing::unverified;
    default:
      return Standing::fail;
  }
}

bool is_finding(Standing s) {
  return s == Standing::fail || s == Standing::vacuous || s == Standing::unverified || s == Standing::error;
}

std::string reason_of(const ResultView& r) {
  if (standing(r) == Standing::unverified)
    return fmt::format("it says '{}', but no output was judged", to_string(r.verdict));
  return r.reason.empty() ? to_string(r.verdict) : r.reason;
}

Headline headline(const RecordView& record) {
  const VerdictTally t = tally(record);
  const auto all = static_cast<std::int64_t>(record.results.size());
  const std::string neither = neither_words(record);
  Headline h;
  h.exit_code = t.exit_code;
  if (const ResultView* broken = first_with(record, Standing::error)) {
    h.word = "Error";
    h.sentence = fmt::format("{} of {} could not be had, first {}: {}.", t.errors, counted(all, "result"),
                             named(*broken), reason_of(*broken));
  } else if (const ResultView* failed = first_with(record, Standing::fail)) {
    h.word = "Fail";
    h.sentence = fmt::format("{} of {} {}, first {}, {}: {}.", t.failed, counted(all, "result"),
                             t.failed == 1 ? "fails" : "fail", named(*failed), to_string(failed->verdict),
                             reason_of(*failed));
  } else if (const ResultView* unverified = first_with(record, Standing::unverified)) {
    h.word = "Nothing proved";
    h.sentence = fmt::format("{}: {}.", named(*unverified), reason_of(*unverified));
  } else if (t.passed == 0) {
    h.word = "Nothing proved";
    h.sentence = all == 0 ? "The record holds no results." : fmt::format("No result passed: {}.", neither);
  } else {
    h.word = "Pass";
    const ResultView* closest = nullptr;
    for (const ResultView& r : record.results)
      if (standing(r) == Standing::pass && headroom_of(r) && std::isfinite(*headroom_of(r)) &&
          (!closest || *headroom_of(r) > *headroom_of(*closest)))
        closest = &r;
    h.sentence =
        fmt::format("{} of {} {}", t.passed, counted(all, "result"), t.passed == 1 ? "passes" : "pass");
    if (closest)
      h.sentence += fmt::format("; closest to its bound is {}, at {} of it", named(*closest),
                                figure(headroom_of(*closest)));
    h.sentence += ".";
    if (!neither.empty()) h.sentence += " No passes: " + neither + ".";
    return h;
  }
  if (t.passed > 0) h.sentence += fmt::format(" {} pass.", t.passed);
  if (!neither.empty() && (t.passed > 0 || t.failed + t.errors > 0))
    h.sentence += " Neither: " + neither + ".";
  return h;
}

std::string mode_words(const ResultView& r) {
  return r.effective_mode.empty() || r.effective_mode == r.mode
             ? r.mode
             : r.mode + " (effective " + r.effective_mode + ")";
}

std::string figure(std::optional<double> x) {
  return x ? fmt::format("{:.3g}", *x) : "-";
}

std::string exact_figure(std::optional<double> x) {
  return x ? fmt::format("{}", *x) : "";
}

std::optional<double> headroom_of(const ResultView& r) {
  return r.error ? r.error->headroom : std::nullopt;
}

std::optional<double> max_error_of(const ResultView& r) {
  return r.error ? r.error->max_abs : std::nullopt;
}

std::vector<std::pair<std::string, std::string>> environment_lines(const EnvironmentView& e) {
  std::vector<std::pair<std::string, std::string>> lines;
  auto add = [&](const std::string& what, const std::string& value) {
    if (!value.empty()) lines.emplace_back(what, value);
  };
  add("device",
      e.device.empty()
          ? (e.device_missing.empty() ? "none" : "none: " + e.device_missing)
          : e.device + (e.compute_capability.empty() ? "" : ", compute capability " + e.compute_capability));
  for (const auto& [name, what] : e.parts) add(name, what);
  for (const auto& [name, version] : e.libraries)
    if (!name.ends_with("_missing")) add(name, version);
  add("host", e.host);
  add("cpu", e.cpu);
  add("system", e.os);
  add("ulpscope", e.version);
  add("commit", e.commit + (e.dirty ? " (with uncommitted changes)" : ""));
  add("compiler", e.compiler);
  add("started", e.started);
  for (const auto& [name, value] : e.variables) add(name, value);
  std::string command;
  for (const std::string& word : e.argv) {
    const bool plain = word.find_first_of(" '\"$*?()[]{}|&;<>\\\n") == std::string::npos && !word.empty();
    std::string quoted = word;
    for (std::size_t at = 0; !plain && (at = quoted.find('\'', at)) != std::string::npos; at += 4)
      quoted.replace(at, 1, "'\\''");
    command += (command.empty() ? "" : " ") + (plain ? word : "'" + quoted + "'");
  }
  add("command", command);
  return lines;
}

}  // namespace ulpscope
