// Records and budgets that must not get past the gate, and shards that must not be merged.
#include <cmath>
#include <limits>

#include "harness/merge.hpp"
#include "harness/selftest/selftest.hpp"
#include "harness/shard.hpp"
#include "reference/error.hpp"
#include "reports/gate.hpp"

namespace ulpscope::selftest {
namespace {

ResultView row(const std::string& variant, const std::string& mode = "fp32") {
  ResultView r;
  r.test = "t/gemm";
  r.case_text = "gemm 4x64 * 64x4 in=fp32 out=fp32 a=uniform(0,1) b=uniform(-1,1) seed=3";
  r.variant = variant;
  r.mode = mode;
  r.source = "kernels/gemm/" + variant + ".cu";
  r.verdict = Verdict::explained;
  r.plan = r.declared_plan = "fp32 | fma | order k";
  r.bit_identical = 1;
  r.replayed_outputs = r.outputs = r.judged_outputs = 16;
  r.runs_identical = true;
  r.input_hash = "in";
  r.output_hash = "out-" + variant;
  r.expected_max = 1e-6;
  ErrorView e;
  e.max_scaled = 1;
  e.max_abs = 1e-6;
  e.headroom = 0.1;
  e.atol = e.rtol = 1e-4;
  e.violations = 0;
  e.worst = ErrorView::Worst{};
  e.worst->terms = 64;
  r.error = e;
  return r;
}

struct Scenario {
  RecordView record, baseline;
  std::string budget =
      "max_scaled = 1.5\nbits = [\"runs\", \"plan\", \"baseline\"]\nviolations = {atol = 1e-4, rtol = 1e-4}";
};

Scenario good() {
  Scenario s;
  s.record.name = "record";
  s.record.environment.device = "NVIDIA H200";
  s.record.results = {row("tile"), row("wide"), row("cudnn", "strict")};
  s.baseline = s.record;
  return s;
}

std::string gated(const Scenario& s) {
  const auto budgets = parse_budgets(
      "[[budget]]\ncase = \"t/*\"\ndate = 2026-11-29\nreason = \"self-test\"\nowner = \"self-test\"\n" +
          s.budget,
      "planted");
  const GateReport report = gate(s.record, budgets, &s.baseline);
  for (const Finding& f : report.findings)
    if (f.level != Finding::Level::note)
      return std::string(to_string(f.level)) + " " + f.what + ": " + f.message;
  return report.exit_code == 0 ? "" : "exit code " + std::to_string(report.exit_code);
}

Plant planted(const std::string& what, const std::function<void(Scenario&)>& change) {
  return {"gate", what, [change] {
            Scenario s = good();
            change(s);
            return gated(s);
          }};
}

Plant refused(const std::string& what, const std::string& budgets) {
  return {"gate", what, [budgets] {
            try {
              parse_budgets(budgets, "planted");
              return std::string();
            } catch (const Error& e) {
              return std::string(e.what());
            }
          }};
}

NamedRecord shard(int index, const std::string& test) {
  NamedRecord r{"shard " + std::to_string(index), {}};
  r.record.environment = {{"version", "1"},
                          {"libraries", {{"cudnn", "9.14"}}},
                          {"shard", {{"index", index}, {"of", 2}, {"cases", 2}, {"selection", "x"}}}};
  r.record.results = {{{"case", test}, {"variant", "v"}, {"mode", "fp32"}, {"verdict", "bounded"}}};
  return r;
}

Plant merging(const std::string& what, const std::function<void(std::vector<NamedRecord>&)>& change,
              bool control = false) {
  return {"merge", what,
          [change] {
            std::vector<NamedRecord> shards{shard(1, "a"), shard(2, "b")};
            change(shards);
            try {
              return std::string(merge_records(shards).results.size() == 2 ? "" : "results are lost");
            } catch (const Error& e) {
              return std::string(e.what());
            }
          },
          control};
}

}  // namespace

std::vector<Plant> gate_plants() {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  return {
      {"gate", "a good record", [] { return gated(good()); }, true},
      planted("a loosened budget", [](Scenario& s) { s.budget = "max_scaled = 300000"; }),
      planted("a budget with room for other arithmetic", [](Scenario& s) { s.budget = "max_scaled = 3"; }),
      planted("a dropped result", [](Scenario& s) { s.record.results.pop_back(); }),
      planted("a dropped case", [](Scenario& s) { s.record.results.clear(); }),
      planted("a result that was skipped",
              [](Scenario& s) { s.record.results[0].verdict = Verdict::skipped; }),
      planted("a larger error", [](Scenario& s) { s.record.results[0].error->max_scaled = 1.51; }),
      planted("an error of NaN", [=](Scenario& s) { s.record.results[0].error->max_scaled = nan; }),
      planted("an infinite error", [=](Scenario& s) { s.record.results[0].error->max_scaled = inf; }),
      planted("a missing error", [](Scenario& s) { s.record.results[0].error->max_scaled.reset(); }),
      planted("other bits than promised", [](Scenario& s) { s.record.results[0].output_hash = "other"; }),
      planted("other bits in mode strict",
              [](Scenario& s) {
                s.budget = "max_scaled = 1.5";
                s.record.results[2].output_hash = "other";
              }),
      planted("a violated tolerance", [](Scenario& s) { s.record.results[0].error->violations = 1; }),
      planted("a tolerance that was not counted",
              [](Scenario& s) { s.record.results[0].error->violations.reset(); }),
      planted("a failing verdict", [](Scenario& s) { s.record.results[0].verdict = Verdict::unexplained; }),
      planted("a verdict made better by hand",
              [](Scenario& s) { s.record.results[0].verdict = Verdict::identical; }),
      planted("a pass without any judged output",
              [](Scenario& s) { s.record.results[0].judged_outputs = 0; }),
      planted("a plan that gives most bits", [](Scenario& s) { s.record.results[0].bit_identical = 0.9999; }),
      planted("a plan replayed on some outputs only",
              [](Scenario& s) { s.record.results[0].replayed_outputs = 15; }),
      planted("one run instead of two", [](Scenario& s) { s.record.results[0].runs_identical.reset(); }),
      planted("other inputs than the baseline's",
              [](Scenario& s) { s.record.results[0].input_hash = "other"; }),
      planted("a result without a budget",
              [](Scenario& s) {
                s.record.results[1].test = "u/gemm";
                s.baseline = s.record;
              }),
      planted("worse than the baseline, by no budget",
              [](Scenario& s) {
                s.budget = "bits = [\"runs\"]";
                s.record.results[0].verdict = Verdict::bounded;
                s.record.results[0].plan.clear();
                s.record.results[0].error->max_scaled = 1.1;
              }),
      planted("a limit that refers to a missing result",
              [](Scenario& s) { s.budget = "max_scaled = \"2x cublas:strict\""; }),
      refused("a budget that nobody owns", "[[budget]]\ncase = \"*\"\ndate = 2026-11-29\nreason = \"x\""),
      refused("a budget without a reason",
              "[[budget]]\ncase = \"*\"\ndate = 2026-11-29\nreason = \" \"\nowner = \"x\""),
      refused("a budget with a misspelt limit",
              "[[budget]]\ncase = \"*\"\nmax_scald = 1\ndate = 2026-11-29\nreason = \"x\"\nowner = \"x\""),
      refused("a budget of NaN",
              "[[budget]]\ncase = \"*\"\nmax_abs = nan\ndate = 2026-11-29\nreason = \"x\"\nowner = \"x\""),
      refused("a budget on the largest ULP",
              "[[budget]]\ncase = \"*\"\nmax_ulp = 4\ndate = 2026-11-29\nreason = \"x\"\nowner = \"x\""),
      refused("a budget that allows what was not verified",
              "[[budget]]\ncase = \"*\"\nverdicts = [\"skipped\"]\ndate = 2026-11-29\nreason = \"x\"\nowner "
              "= \"x\""),
      merging(
          "two shards of one run", [](auto&) {}, true),
      merging("a missing shard", [](auto& s) { s.pop_back(); }),
      merging("a shard twice", [](auto& s) { s[1] = s[0]; }),
      merging("a result in two shards", [](auto& s) { s[1].record.results = s[0].record.results; }),
      merging("shards of different selections",
              [](auto& s) { s[1].record.environment["shard"]["selection"] = "y"; }),
      merging("shards of different libraries",
              [](auto& s) { s[1].record.environment["libraries"]["cudnn"] = "9.15"; }),
  };
}

}  // namespace ulpscope::selftest
