#include "harness/suite.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <filesystem>

#include "harness/drift.hpp"
#include "harness/inputs.hpp"
#include "harness/io/bytes.hpp"
#include "harness/suggest.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> texts(const toml::node& node, const std::string& where, const std::string& key) {
  const toml::array* list = node.as_array();
  if (!list) throw Error(where + ": '" + key + "' must be a list of strings");
  std::vector<std::string> values;
  for (const auto& item : *list) {
    const auto value = item.value_exact<std::string>();
    if (!value || value->empty()) throw Error(where + ": '" + key + "' must be a list of strings");
    values.push_back(*value);
  }
  return values;
}

}  // namespace

Suite parse_suite(std::string_view text, const std::string& file, const std::string& name) {
  toml::table root;
  try {
    root = toml::parse(text, file);
  } catch (const toml::parse_error& e) {
    std::string why(e.description());
    std::replace(why.begin(), why.end(), '\n', ' ');
    throw Error(fmt::format("{}:{}: {}", file, e.source().begin.line, why));
  }
  Suite suite;
  suite.name = name;
  for (auto&& [k, node] : root) {
    const std::string key(k.str()), where = fmt::format("{}:{}", file, node.source().begin.line);
    std::string* one = key == "about"    ? &suite.about
                       : key == "device" ? &suite.device
                       : key == "replay" ? &suite.replay
                                         : nullptr;
    std::vector<std::string>* many = key == "cases"      ? &suite.cases
                                     : key == "variants" ? &suite.variants
                                     : key == "captures" ? &suite.captures
                                     : key == "drift"    ? &suite.drift
                                                         : nullptr;
    if (many) {
      *many = texts(node, where, key);
    } else if (one) {
      const auto value = node.value_exact<std::string>();
      if (!value) throw Error(where + ": '" + key + "' must be a string");
      *one = *value;
    } else if (key == "sweep") {
      const auto value = node.value_exact<std::int64_t>();
      if (!value || *value < 1 || *value > 100000)
        throw Error(where + ": 'sweep' must be 1 to 100000 problems");
      suite.sweep = *value;
    } else {
      throw Error(
          where + ": unknown key '" + key + "'" +
          suggestion(key, {"about", "cases", "variants", "captures", "drift", "device", "replay", "sweep"}));
    }
  }
  if (suite.cases.empty() && suite.captures.empty() && suite.drift.empty() && suite.sweep == 0)
    throw Error(file + ": the suite selects nothing: give it cases, captures, drift or sweep");
  return suite;
}

Suite read_suite(const std::string& cases_folder, const std::string& name) {
  const fs::path folder = fs::path(cases_folder) / "suites";
  const fs::path file = folder / (name + ".toml");
  std::error_code unreadable;
  if (name.find('/') != std::string::npos || !fs::is_regular_file(file, unreadable)) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder, unreadable))
      if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    if (names.empty())
      throw Error("no suites in '" + folder.string() + "': run in the project's root, or use --cases");
    throw Error("no suite is called '" + name + "'" + suggestion(name, names));
  }
  const Bytes bytes = map_file(file.string());
  Suite suite = parse_suite(bytes.text(), file.string(), name);
  for (std::string& path : suite.captures)
    path = (fs::path(cases_folder) / ".." / path).lexically_normal().string();
  return suite;
}

Result judge_drift(const Case& test, int threads) {
  Result r;
  r.test = test;
  r.variant = "drift";
  r.source = "harness/drift.cpp";
  r.mode = r.evidence.mode = Mode::fp32;
  r.reproduce = fmt::format("ulpscope drift '{}'", to_string(test));
  try {
    const Contraction c = lower(test.problem);
    const Inputs inputs = make_inputs(test, threads);
    std::vector<DriftPlan> plans = drift_plans(c, test.out);
    const std::string arithmetic = plans.at(0).arithmetic;
    std::erase_if(plans, [&](const DriftPlan& p) { return p.arithmetic != arithmetic; });
    DriftOptions options;
    options.threads = threads;
    if (test.tolerance) options.tolerance = *test.tolerance;
    const DriftReport report = drift(c, inputs.operands(), plans, options);
    const DriftRow& worst =
        *std::max_element(report.rows.begin(), report.rows.end(),
                          [](const DriftRow& x, const DriftRow& y) { return x.headroom < y.headroom; });
    const OrderSpread& spread = report.spreads.at(0);
    r.executed = "replay";
    r.input_hash = inputs.hash;
    r.evidence.outputs = report.outputs;
    Measurement m;
    m.outputs = m.finite_pairs = report.looked_at;
    m.max_abs = worst.max_abs;
    m.mean_abs = worst.mean_abs;
    m.mean_signed = worst.mean_signed;
    m.max_scaled = worst.max_scaled;
    m.bound = worst.bound;
    m.headroom = worst.headroom;
    m.violations = worst.violations;
    m.nonfinite = worst.nonfinite;
    r.evidence.measured = m;
    const bool within = worst.headroom <= 1 && worst.nonfinite == 0 && spread.observed <= spread.bound;
    r.judgement = {
        within ? Verdict::bounded : Verdict::violated,
        fmt::format("{} orders of '{}': errors within {:.3g} of their bounds, results {:.3g} apart of "
                    "at most {:.3g}",
                    spread.orders, arithmetic, worst.headroom, spread.observed, spread.bound),
        false};
  } catch (const Error& e) {
    r.evidence.status = "error";
    r.evidence.reason = e.what();
    r.evidence.measured.reset();
    r.judgement = judge(r.evidence);
  }
  return r;
}

}  // namespace ulpscope
