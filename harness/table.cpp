#include "harness/table.hpp"
#include "reference/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace ulpscope {
namespace {

using nlohmann::json;

std::string number(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || object[key].is_null()) return "-";
  if (object[key].is_string()) return object[key].get<std::string>();  // "inf"
  return fmt::format("{:.2e}", object[key].get<double>());
}

std::string text(const json& row, const char* key) {
  return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : std::string();
}

std::string mode_of(const json& row) {
  const std::string asked = text(row, "mode"), effective = text(row, "effective_mode");
  return effective.empty() || effective == asked ? asked : asked + " (" + effective + ")";
}

}  // namespace

std::string render_table(const Record& record) {
  std::map<std::tuple<std::string, std::string, std::string>, double> times;
  for (const json& t : record.timings)
    if (t.contains("device_ms") && t["device_ms"].is_number())
      times[{text(t, "case"), text(t, "variant"), text(t, "mode")}] = t["device_ms"].get<double>();
  std::size_t widest = 7;
  for (const json& row : record.results) widest = std::max(widest, text(row, "variant").size());

  std::string out, current;
  std::map<std::string, int> tally;
  for (const json& row : record.results) {
    const std::string name = text(row, "case"), verdict = text(row, "verdict");
    ++tally[verdict];
    if (name != current) {
      current = name;
      const std::string identity = text(row, "case_text");
      out += (out.empty() ? "" : "\n") + name +
             (identity.empty() || identity == name ? "" : ": " + identity) + "\n";
      out += fmt::format("  {:<{}}  {:<14}  {:<16}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}\n", "variant",
                         widest, "mode", "verdict", "max", "mean", "p99.9 ulp", "err/(uS)", "of bound", "ms");
    }
    const auto time = times.find({name, text(row, "variant"), text(row, "mode")});
    if (!row.contains("error") || !row["error"].is_object()) {
      out += fmt::format("  {:<{}}  {:<14}  {:<16}  {}\n", text(row, "variant"), widest, mode_of(row),
                         verdict, text(row, "reason"));
      continue;
    }
    const json& e = row["error"];
    out +=
        fmt::format("  {:<{}}  {:<14}  {:<16}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}\n",
                    text(row, "variant"), widest, mode_of(row), verdict, number(e, "max_abs"),
                    number(e, "mean_abs"), number(e, "p999_ulp"), number(e, "max_scaled"),
                    number(e, "headroom"), time == times.end() ? "-" : fmt::format("{:.3g}", time->second));
    static const char* const kTellWhy[] = {"violated", "structural", "nondeterministic", "unexplained",
                                           "vacuous"};
    // Within its bound, but not what the variant says of itself.
    const bool refuted = verdict == "bounded" && row.contains("declared_plan") &&
                         row["declared_plan"].is_string() && row.contains("bit_identical") &&
                         row["bit_identical"].is_number() && row["bit_identical"] < 1;
    if (refuted) out += "      " + text(row, "reason") + "\n";
    if (std::find(std::begin(kTellWhy), std::end(kTellWhy), verdict) != std::end(kTellWhy))
      out += "      " + text(row, "reason") + "\n      " + text(row, "reproduce") + "\n";
  }
  out += "\n";
  std::string sum;
  for (auto& [verdict, n] : tally) sum += fmt::format("{}{} {}", sum.empty() ? "" : ", ", n, verdict);
  return out + fmt::format("{}: {}\n", counted(static_cast<std::int64_t>(record.results.size()), "result"),
                           sum.empty() ? "none" : sum);
}

}  // namespace ulpscope
