// ulpscope bound: what error to expect of a case before running it, and what a tolerance lets through.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "harness/commands.hpp"
#include "harness/commands/prediction_options.hpp"
#include "harness/io/atomic_file.hpp"
#include "harness/measure_strata.hpp"
#include "harness/statistics/forecast.hpp"
#include "harness/vacuity.hpp"
#include "harness/version.hpp"
#include "reference/counted.hpp"
#include "reference/error.hpp"
#include "reference/operators.hpp"

namespace ulpscope {
namespace {

struct Options {
  CaseOptions cases;
  std::vector<std::string> modes, plans, references{"fp32", "tf32"};
  double p_fail = 1e-3;
  std::optional<double> observed;
  std::int64_t seeds = 256;
};

nlohmann::json json_of(const Vacuity& v) {
  nlohmann::json tried = nlohmann::json::array();
  for (const PlantedMistake& m : v.tried)
    tried.push_back({{"name", m.name},
                     {"what", m.what},
                     {"mistake", m.mistake},
                     {"detected", m.detected},
                     {"max_abs", json_number(m.max_abs)},
                     {"share", m.share},
                     {"tried", m.tried},
                     {"seen", m.seen}});
  return {{"atol", v.tolerance.atol},
          {"rtol", v.tolerance.rtol},
          {"vacuous", v.vacuous},
          {"why", v.why},
          {"tried", tried}};
}

nlohmann::json json_of(const ForecastReport& r, const Options& o) {
  nlohmann::json plans = nlohmann::json::array();
  for (const Forecast& f : r.plans) {
    nlohmann::json judged = nlohmann::json::array();
    for (const Judged& j : f.judged)
      judged.push_back({{"against", j.against},
                        {"expected_max", json_number(j.expected_max)},
                        {"expected_mean", json_number(j.expected_mean)},
                        {"expected_signed", json_number(j.expected_signed)},
                        {"violating_share", j.share},
                        {"p_fail", j.p_fail},
                        {"suggested_atol", json_number(j.atol)}});
    nlohmann::json row = {{"name", f.name},       {"plan", f.plan},   {"bound", json_number(f.bound)},
                          {"formula", f.formula}, {"judged", judged}, {"p_fail_over_seeds", nullptr},
                          {"observed", nullptr}};
    if (f.p_fail_over_seeds) row["p_fail_over_seeds"] = *f.p_fail_over_seeds;
    if (o.observed) row["observed"] = *o.observed;
    plans.push_back(row);
  }
  return plans;
}

std::string text_of(const Case& c, const ForecastReport& r, const Options& o) {
  std::string s = fmt::format("## {}\n\n", c.name);
  s += fmt::format("{}{}, {} each; tolerance atol {:g}, rtol {:g}.\n\n", counted(r.outputs, "output"),
                   r.looked_at < r.outputs ? fmt::format(" ({} looked at)", r.looked_at) : "",
                   counted(lower(c.problem).terms(), "term"), r.tolerance.atol, r.tolerance.rtol);
  for (const Forecast& f : r.plans) {
    const Judged& exact = f.judged.front();
    s += fmt::format("### {}: `{}`\n\n", f.name, f.plan);
    s += fmt::format("- bound (must hold): {:.3g} = {}\n", f.bound, f.formula);
    s += fmt::format("- expected maximum for {}: {:.3g}; expected mean {:.3g}, signed {:+.2g}\n",
                     counted(r.outputs, "output"), exact.expected_max, exact.expected_mean,
                     exact.expected_signed);
    if (o.observed)
      s += fmt::format("- observed: {:.3g}: {}\n", *o.observed,
                       *o.observed > f.bound ? "beyond the bound: not a correct kernel of this arithmetic"
                       : *o.observed > 2 * exact.expected_max
                           ? "within the bound, but far beyond what is expected"
                           : "as large as expected or smaller");
    else
      s += "- observed: nothing yet\n";
    s += "\n| judged against | expected max | mean | outputs beyond the tolerance | P(fail) | smallest atol "
         "for P < " +
         fmt::format("{:g} |\n| --- | --- | --- | --- | --- | --- |\n", o.p_fail);
    for (const Judged& j : f.judged)
      s += fmt::format("| {} | {:.3g} | {:.3g} | {:.3g} % | {:.2g} | {:.2g} |\n",
                       j.against == "exact" ? "exact" : "a correct " + j.against + " kernel", j.expected_max,
                       j.expected_mean, 100 * j.share, j.p_fail, j.atol);
    if (f.p_fail_over_seeds)
      s += fmt::format("\nOver {} other seeds of the same distributions: P(fail) {:.2g} against exact.\n",
                       f.seeds, *f.p_fail_over_seeds);
    s += "\n";
  }
  return s;
}

std::string text_of(const Vacuity& v) {
  std::string s = fmt::format(
      "### What atol {:g}, rtol {:g} lets through\n\n| planted | detected | largest effect | outputs "
      "beyond the tolerance |\n| --- | --- | --- | --- |\n",
      v.tolerance.atol, v.tolerance.rtol);
  for (const PlantedMistake& m : v.tried)
    s += fmt::format("| {}: {} | {}{} | {:.3g} | {:.3g} % |\n", m.name, m.what,
                     m.detected  ? "yes"
                     : m.mistake ? "**no**"
                                 : "no",
                     m.tried > 1 ? fmt::format(" ({} of {} places)", m.seen, m.tried) : "", m.max_abs,
                     100 * m.share);
  if (!v.why.empty())
    s += fmt::format("\n{}{}.\n", static_cast<char>(std::toupper(v.why[0])), v.why.substr(1));
  return s + "\n";
}

std::vector<NamedPlan> chosen_plans(const Options& o, DType out) {
  std::vector<NamedPlan> plans;
  for (const std::string& text : o.plans) {
    plans.push_back({"plan", *parse_plan(text)});
    if (plans.back().plan.out == DType::f32) plans.back().plan.out = out;
  }
  for (const std::string& m : o.modes) plans.push_back(usual_plan(m == "strict" ? "fp32" : m, out));
  return plans.empty() ? usual_plans(out) : plans;
}

int run(const Options& o) {
  if (!(o.p_fail > 0 && o.p_fail < 1)) throw Error("--p-fail must lie between 0 and 1: it is a probability");
  nlohmann::json all = nlohmann::json::array();
  std::string text;
  for (const Case& c : o.cases.select()) {
    ForecastOptions options;
    options.tolerance = o.cases.tolerance_of(c);
    options.p_fail = o.p_fail;
    options.seeds = o.seeds;
    options.threads = o.cases.threads;
    std::vector<NamedPlan> references;
    for (const std::string& r : o.references)
      if (r != "exact") references.push_back(usual_plan(r, c.out));
    const ForecastReport report = forecast(c, chosen_plans(o, c.out), references, options);
    const Contraction contraction = lower(c.problem);
    const ModelData data = model_data(c);
    // The tolerance in use, then what a tolerance would let through that suits each arithmetic.
    std::vector<Vacuity> tried{try_tolerance(contraction, data, options.tolerance)};
    std::vector<double> suggested;
    for (const Forecast& f : report.plans) {
      const double atol = f.judged.front().atol;
      if (!std::isfinite(atol) || std::find(suggested.begin(), suggested.end(), atol) != suggested.end())
        continue;
      suggested.push_back(atol);
      tried.push_back(try_tolerance(contraction, data, {atol, options.tolerance.rtol}));
    }
    nlohmann::json lets_through = nlohmann::json::array();
    text += text_of(c, report, o);
    for (const Vacuity& v : tried) {
      lets_through.push_back(json_of(v));
      text += text_of(v);
    }
    all.push_back({{"case", c.name},
                   {"outputs", report.outputs},
                   {"looked_at", report.looked_at},
                   {"atol", options.tolerance.atol},
                   {"rtol", options.tolerance.rtol},
                   {"p_fail", o.p_fail},
                   {"vacuous", tried.front().vacuous},
                   {"plans", json_of(report, o)},
                   {"lets_through", lets_through}});
  }
  write_prediction({{"schema", "ulpscope.bound/1"}, {"version", kVersion}, {"cases", all}}, text, o.cases);
  return 0;
}

const RegisterCommand registered(45, [](CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "bound", "What error to expect before a run: bound, expected maximum, P(fail), tolerance");
  options->cases.add_to(*sub);
  sub->add_option("--mode", options->modes,
                  "Arithmetic: fp32, tf32, tf32_rna, tf32_rz, bf16, fp16 (default: all)");
  sub->add_option("--plan", options->plans, "A plan, e.g. 'fp32 | fma | split 4 seq'");
  sub->add_option("--against", options->references,
                  "Correct kernels that may be the reference (default: fp32 tf32)");
  sub->add_option("--p-fail", options->p_fail,
                  "The probability that the suggested tolerance stays below (default 1e-3)");
  sub->add_option("--observed", options->observed,
                  "An observed largest error, to be placed among bound and expectation");
  sub->add_option("--seeds", options->seeds,
                  "Data sets to average P(fail) over, for small problems (default 256)")
      ->check(CLI::Range(0, 100000));
  sub->callback([options, &exit_code] { exit_code = run(*options); });
});

}  // namespace
}  // namespace ulpscope
