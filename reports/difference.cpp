#include "reports/difference.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace ulpscope {
namespace {

using Key = std::tuple<std::string, std::string, std::string>;

std::string text_of(const std::optional<double>& x) {
  return x ? fmt::format("{:.6g}", *x) : "";
}

void compare(std::vector<Change>& changes, const char* what, const std::string& before,
             const std::string& after) {
  if (before != after) changes.push_back({what, before, after});
}

std::vector<Change> environment_changes(const EnvironmentView& before, const EnvironmentView& after) {
  std::vector<Change> changes;
  compare(changes, "version", before.version, after.version);
  compare(changes, "commit", before.commit, after.commit);
  compare(changes, "device", before.device, after.device);
  compare(changes, "compute capability", before.compute_capability, after.compute_capability);
  compare(changes, "compiler", before.compiler, after.compiler);
  for (const auto& [was, is, prefix] : {std::tuple{&before.libraries, &after.libraries, ""},
                                        std::tuple{&before.variables, &after.variables, "variable "}}) {
    std::map<std::string, std::pair<std::string, std::string>> both;
    for (auto& [name, value] : *was) both[name].first = value;
    for (auto& [name, value] : *is) both[name].second = value;
    for (auto& [name, values] : both) compare(changes, (prefix + name).c_str(), values.first, values.second);
  }
  return changes;
}

std::string why_other_bits(const ResultView& before, const ResultView& after, bool only_order,
                           const Difference& d) {
  if (!before.input_hash.empty() && !after.input_hash.empty() && before.input_hash != after.input_hash)
    return "the inputs are others";
  std::string why;
  if (only_order)
    why = "the order of additions changed, the arithmetic did not";
  else if (!before.plan.empty() && !after.plan.empty() && before.plan != after.plan)
    why = "the arithmetic changed";
  else if (!before.plan.empty() && before.plan == after.plan)
    why = "the same plan was replayed on the outputs judged: others differ";
  else
    why = "no plan is known on " + std::string(before.plan.empty() && after.plan.empty() ? "either side"
                                               : before.plan.empty()                     ? "the old side"
                                                                                         : "the new side");
  std::string suspects;
  for (const Change& c : d.environment)
    if (c.what != "commit" && c.what != "version" && c.what != "compiler")
      suspects += fmt::format("{}{} {} -> {}", suspects.empty() ? "" : ", ", c.what,
                              c.before.empty() ? "none" : c.before, c.after.empty() ? "none" : c.after);
  if (!suspects.empty()) why += " (" + suspects + ")";
  return why;
}

ResultChange compare_results(const ResultView& before, const ResultView& after, const Difference& d) {
  ResultChange r;
  r.test = after.test;
  r.variant = after.variant;
  r.mode = after.mode;
  auto& changes = r.changes;
  compare(changes, "verdict", to_string(before.verdict), to_string(after.verdict));
  compare(changes, "inputs", before.input_hash, after.input_hash);
  compare(changes, "bits", before.output_hash, after.output_hash);
  r.bits =
      before.output_hash != after.output_hash && !before.output_hash.empty() && !after.output_hash.empty();
  compare(changes, "plan", before.plan, after.plan);
  compare(changes, "engine", before.engine, after.engine);
  compare(changes, "effective mode", before.effective_mode, after.effective_mode);
  const ErrorView none;
  const ErrorView& was = before.error ? *before.error : none;
  const ErrorView& is = after.error ? *after.error : none;
  compare(changes, "max_abs", text_of(was.max_abs), text_of(is.max_abs));
  compare(changes, "max_scaled", text_of(was.max_scaled), text_of(is.max_scaled));
  compare(changes, "mean_abs", text_of(was.mean_abs), text_of(is.mean_abs));
  if (r.bits) {
    r.only_order = !before.plan.empty() && !after.plan.empty() && before.plan != after.plan &&
                   arithmetic_of(before.plan) == arithmetic_of(after.plan);
    r.explanation = why_other_bits(before, after, r.only_order, d);
  }
  return r;
}

}  // namespace

std::string arithmetic_of(const std::string& plan) {
  std::string kept;
  for (std::size_t from = 0; from <= plan.size();) {
    std::size_t end = plan.find(" | ", from);
    if (end == std::string::npos) end = plan.size();
    const std::string stage = plan.substr(from, end - from);
    bool order = false;
    for (const char* word : {"order", "residue", "split", "chunks", "lanes", "pairwise"})
      order |= stage.starts_with(word);
    if (!order) kept += (kept.empty() ? "" : " | ") + stage;
    from = end + 3;
  }
  return kept;
}

Difference difference(const RecordView& before, const RecordView& after) {
  Difference d;
  d.environment = environment_changes(before.environment, after.environment);
  std::map<Key, std::pair<const ResultView*, const ResultView*>> rows;
  for (const ResultView& r : before.results) rows[{r.test, r.variant, r.mode}].first = &r;
  for (const ResultView& r : after.results) rows[{r.test, r.variant, r.mode}].second = &r;
  for (auto& [key, both] : rows) {
    auto& [was, is] = both;
    if (!was || !is) {
      const ResultView& r = was ? *was : *is;
      d.results.push_back({was ? ResultChange::Kind::removed : ResultChange::Kind::added,
                           r.test,
                           r.variant,
                           r.mode,
                           {{"verdict", was ? to_string(r.verdict) : "", is ? to_string(r.verdict) : ""}}});
      continue;
    }
    ResultChange change = compare_results(*was, *is, d);
    if (change.changes.empty())
      ++d.unchanged;
    else
      d.results.push_back(std::move(change));
  }
  return d;
}

std::string render_difference(const Difference& d, std::size_t most_results) {
  std::string out;
  const auto say = [&](const Change& c) {
    out += fmt::format("  {}: {} -> {}\n", c.what, c.before.empty() ? "none" : c.before,
                       c.after.empty() ? "none" : c.after);
  };
  out += d.environment.empty() ? "environment: the same\n" : "environment:\n";
  for (const Change& c : d.environment) say(c);
  out += fmt::format("results: {} changed, {} the same\n", d.results.size(), d.unchanged);
  std::size_t shown = 0;
  for (const ResultChange& r : d.results) {
    if (shown++ == most_results) {
      out += fmt::format("... and {} more\n", d.results.size() - most_results);
      break;
    }
    out += fmt::format("{} {} {}{}\n", r.test, r.variant, r.mode,
                       r.kind == ResultChange::Kind::added     ? ": new"
                       : r.kind == ResultChange::Kind::removed ? ": no longer there"
                                                               : "");
    for (const Change& c : r.changes) say(c);
    if (!r.explanation.empty()) out += "  bits changed: " + r.explanation + "\n";
  }
  return out;
}

nlohmann::json to_json(const Difference& d) {
  const auto changes = [](const std::vector<Change>& list) {
    nlohmann::json out = nlohmann::json::array();
    for (const Change& c : list) out.push_back({{"what", c.what}, {"before", c.before}, {"after", c.after}});
    return out;
  };
  nlohmann::json results = nlohmann::json::array();
  for (const ResultChange& r : d.results)
    results.push_back({{"case", r.test},
                       {"variant", r.variant},
                       {"mode", r.mode},
                       {"kind", r.kind == ResultChange::Kind::added     ? "added"
                                : r.kind == ResultChange::Kind::removed ? "removed"
                                                                        : "changed"},
                       {"changes", changes(r.changes)},
                       {"only_order", r.only_order},
                       {"explanation", r.explanation}});
  return {{"environment", changes(d.environment)}, {"results", results}, {"unchanged", d.unchanged}};
}

}  // namespace ulpscope
