// Renderers that leave out or embellish, before a check of what every sink must show.
#include <fmt/format.h>

#include <algorithm>

#include "harness/selftest/selftest.hpp"
#include "reports/render.hpp"

namespace ulpscope::selftest {
namespace {

struct Renderers {
  std::function<std::string(const RecordView&)> junit = render_junit, sarif = render_sarif, csv = render_csv,
                                                markdown = [](const RecordView&r) {
                                                  return render_markdown(r);
                                                };
};

/// A result of every verdict; the failing ones' variants are named after their verdict.
RecordView every_verdict() {
  std::string rows;
  for (const char* verdict : {"identical", "explained", "bounded", "violated", "structural",
                              "nondeterministic", "unexplained", "vacuous", "skipped", "error"}) {
    const bool judged = std::string(verdict) != "skipped" && std::string(verdict) != "error";
    rows += fmt::format(
        R"({}{{"case":"t","case_text":"gemm 2x2 * 2x2","op":"gemm","variant":"kernel_{}","mode":"fp32","verdict":"{}",)"
        R"("reason":"<because & why>","source":"kernels/k.cu","outputs":4,"judged_outputs":{},"executed":"host",)"
        R"("plan":"fp32 | fma","bit_identical":1.0,"error":{},"bound":1.0,"reproduce":"ulpscope run"}})",
        rows.empty() ? "" : ",", verdict, verdict, judged ? 4 : 0,
        judged ? R"({"max_abs":0.00123,"max_scaled":2.5,"headroom":0.5,"equal_bits":4})" : "null");
  }
  return parse_record_view(
      R"({"schema":"ulpscope.run/1","environment":{"version":"1"},"results":[)" + rows + "]}", "self-test");
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

/// What of the record some sink does not show as it must, "" if nothing.
std::string fault(const Renderers& r) {
  const RecordView record = every_verdict();
  const std::string junit = r.junit(record), sarif = r.sarif(record), csv = r.csv(record),
                    markdown = r.markdown(record);
  if (count(junit, "<testcase ") != record.results.size()) return "JUnit lacks a result";
  if (count(csv, "\n") + (csv.ends_with('\n') ? 0 : 1) != record.results.size() + 1)
    return "CSV lacks a result";
  std::size_t passed = 0;
  for (const ResultView& x : record.results) {
    passed += passes(x.verdict);
    if (csv.find(x.variant) == std::string::npos) return "CSV does not name " + x.variant;
    if (!fails(x)) continue;
    if (sarif.find(x.variant) == std::string::npos) return "SARIF does not name " + x.variant;
    if (markdown.find(x.variant) == std::string::npos &&
        markdown.find("kernel\\_" + x.variant.substr(7)) == std::string::npos)
      return "Markdown does not name " + x.variant;
  }
  const std::size_t marked = count(junit, "<failure") + count(junit, "<error") + count(junit, "<skipped");
  if (marked != record.results.size() - passed)
    return fmt::format("JUnit shows {} of {} results as passes", record.results.size() - marked, passed);
  if (junit.find("<because") != std::string::npos || junit.find("because") == std::string::npos)
    return "JUnit does not escape reasons";
  if (csv.find("0.00123") == std::string::npos) return "CSV does not show the error";
  if (count(sarif, "\"ruleId\"") < 5) return "SARIF lacks a finding";
  return "";
}

using Change = std::function<void(RecordView&)>;

/// Every sink gets a changed record, as if each had the same mistake, one after the other.
Plant everywhere(const std::string& what, const Change& change) {
  return {"renderer", what, [change] {
            const auto wrapped = [change](const auto& render) {
              return [change, render](const RecordView& record) {
                RecordView seen = record;
                change(seen);
                return render(seen);
              };
            };
            std::string noticed;
            const Renderers right;
            for (const auto& [sink, mutant] :
                 {std::pair<const char*, Renderers>{"JUnit", {.junit = wrapped(right.junit)}},
                  {"SARIF", {.sarif = wrapped(right.sarif)}},
                  {"CSV", {.csv = wrapped(right.csv)}},
                  {"Markdown", {.markdown = wrapped(right.markdown)}}}) {
              const std::string found = fault(mutant);
              if (found.empty()) return std::string();  // one sink's mistake went unnoticed
              noticed += (noticed.empty() ? "" : "; ") + found;
            }
            return noticed;
          }};
}

Plant one(const std::string& what, const Renderers& mutant) {
  return {"renderer", what, [mutant] { return fault(mutant); }};
}

ResultView& named(RecordView& record, const std::string& variant) {
  return *std::find_if(record.results.begin(), record.results.end(),
                       [&](const ResultView& r) { return r.variant == variant; });
}

std::function<std::string(const RecordView&)> replacing(std::function<std::string(const RecordView&)> render,
                                                        const std::string& from, const std::string& to) {
  return [=](const RecordView& record) {
    std::string text = render(record);
    for (std::size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
    return text;
  };
}

std::function<std::string(const RecordView&)> changed(std::function<std::string(const RecordView&)> render,
                                                      const Change& change) {
  return [=](const RecordView& record) {
    RecordView seen = record;
    change(seen);
    return render(seen);
  };
}

}  // namespace

std::vector<Plant> renderer_plants() {
  const Renderers right;
  const Change drop_violated = [](RecordView& r) {
    std::erase_if(r.results, [](const ResultView& x) { return x.verdict == Verdict::violated; });
  };
  const auto pass = [](const char* variant) {
    return [variant](RecordView& r) {
      ResultView& changed = named(r, variant);
      changed = named(r, "kernel_bounded");
      changed.variant = variant;
    };
  };
  return {
      {"renderer", "the renderers themselves", [] { return fault({}); }, true},
      everywhere("renderers that drop a failure", drop_violated),
      one("JUnit that drops a skipped result", {.junit = changed(right.junit,
                                                                 [](RecordView& r) {
                                                                   std::erase_if(
                                                                       r.results, [](const ResultView& x) {
                                                                         return x.verdict == Verdict::skipped;
                                                                       });
                                                                 })}),
      one("JUnit that passes the vacuous", {.junit = changed(right.junit, pass("kernel_vacuous"))}),
      one("JUnit that passes the unexplained", {.junit = changed(right.junit, pass("kernel_unexplained"))}),
      one("JUnit that passes an error", {.junit = changed(right.junit, pass("kernel_error"))}),
      one("SARIF that passes the structural", {.sarif = changed(right.sarif, pass("kernel_structural"))}),
      one("Markdown that is cut before a failure",
          {.markdown = [](const RecordView& r) { return render_markdown(r).substr(0, 60); }}),
      one("JUnit that does not escape", {.junit = replacing(right.junit, "&lt;", "<")}),
      one("CSV that rounds errors away", {.csv = replacing(right.csv, "0.00123", "0")}),
  };
}

}  // namespace ulpscope::selftest
