// ulpscope drift: one case under many accumulation orders and arithmetics.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "harness/commands.hpp"
#include "harness/commands/prediction_options.hpp"
#include "harness/drift.hpp"
#include "harness/drift_json.hpp"
#include "harness/inputs.hpp"
#include "harness/statistics/forecast.hpp"
#include "harness/version.hpp"
#include "reference/counted.hpp"
#include "reference/operators.hpp"

namespace ulpscope {
namespace {

struct Options {
  CaseOptions cases;
  std::vector<std::string> plans;
  std::optional<double> observed;
};

std::string text_of(const DriftReport& r) {
  std::string s = fmt::format(
      "{}, {} looked at; tolerance atol {:g}, rtol {:g}.\n\n"
      "| arithmetic | plan | max | mean | signed mean | max / (2^-24 S) | bound | beyond the tolerance | "
      "from the first |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      counted(r.outputs, "output"), r.looked_at, r.tolerance.atol, r.tolerance.rtol);
  for (const DriftRow& x : r.rows) {
    std::string plan = x.plan;  // a bar would end the cell
    for (std::size_t at = 0; (at = plan.find('|', at)) != std::string::npos; at += 2) plan.insert(at, "\\");
    s += fmt::format("| {} | `{}` | {:.3g} | {:.3g} | {:+.2g} | {:.3g} | {:.3g} | {}{} | {:.3g} |\n",
                     x.arithmetic, plan, x.max_abs, x.mean_abs, x.mean_signed, x.max_scaled, x.bound,
                     x.violations, x.nonfinite ? fmt::format(" ({} not finite)", x.nonfinite) : "",
                     x.from_first);
  }
  s += "\n| orders of | plans | largest difference between two | no two can differ by more than |\n| --- | "
       "--- | --- | --- |\n";
  for (const OrderSpread& x : r.spreads)
    if (x.orders > 1)
      s += fmt::format("| {} | {} | {:.3g} | {:.3g} |\n", x.arithmetic, x.orders, x.observed, x.bound);
  return s;
}

int run(const Options& o) {
  nlohmann::json all = nlohmann::json::array();
  std::string text;
  for (const Case& c : o.cases.select()) {
    // Orders act on one output's terms: a piece with the same sums shows what the whole would.
    const Case small = reduced_case(c, std::int64_t{1} << 24);
    const Contraction contraction = lower(small.problem);
    const Inputs inputs = make_inputs(small, o.cases.threads);
    DriftOptions options;
    options.tolerance = o.cases.tolerance_of(c);
    options.threads = o.cases.threads;
    std::vector<DriftPlan> plans = drift_plans(contraction, c.out);
    for (const std::string& p : o.plans) plans.push_back({"given", *parse_plan(p)});
    const DriftReport report = drift(contraction, inputs.operands(), plans, options);
    const OrderVerdict verdict = o.observed
                                     ? order_accounts_for(report, *o.observed, "the observed mismatch")
                                     : order_accounts_for(report, options.tolerance.atol,
                                                          "a mismatch as large as the tolerance's atol");
    text += fmt::format("## {}\n\n{}\n{}\n\n", c.name, text_of(report), verdict.sentence);
    nlohmann::json one = {{"case", c.name},
                          {"outputs", lower(c.problem).outputs()},
                          {"looked_at", report.looked_at},
                          {"atol", options.tolerance.atol},
                          {"rtol", options.tolerance.rtol},
                          {"observed", nullptr},
                          {"order_can_account", verdict.can},
                          {"order_seen", verdict.seen},
                          {"summary", verdict.sentence}};
    if (o.observed) one["observed"] = *o.observed;
    one.update(to_json(report));
    all.push_back(one);
  }
  write_prediction({{"schema", "ulpscope.drift/1"}, {"version", kVersion}, {"cases", all}}, text, o.cases);
  return 0;
}

const RegisterCommand registered(40, [](CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "drift", "Errors across accumulation orders and arithmetics, and what order can account for");
  options->cases.add_to(*sub);
  sub->add_option("--plan", options->plans, "A further plan to compare");
  sub->add_option("--observed", options->observed,
                  "An observed largest difference: can order account for it?")
      ->check(CLI::NonNegativeNumber);
  sub->callback([options, &exit_code] { exit_code = run(*options); });
});

}  // namespace
}  // namespace ulpscope
