#include "reports/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

using Level = Finding::Level;
using ::testing::HasSubstr;
using ::testing::Not;

ResultView row(const std::string& variant, const std::string& mode, double scaled,
               Verdict verdict = Verdict::bounded) {
  ResultView r;
  r.test = "t/gemm";
  r.case_text = "gemm 4x64 * 64x4 in=fp32 out=fp32 a=uniform(0,1) b=uniform(-1,1) seed=3";
  r.variant = variant;
  r.source = variant == "cudnn" ? "kernels/vendor/cudnn.cpp" : "kernels/gemm/" + variant + ".cu";
  r.mode = mode;
  r.verdict = verdict;
  r.reason = "because";
  r.executed = "host";
  r.outputs = r.judged_outputs = 16;
  r.runs_identical = true;
  r.input_hash = "in";
  r.output_hash = "out-" + variant;
  r.bound = 1e-5;
  r.expected_max = 1e-6;
  ErrorView e;
  e.max_scaled = scaled;
  e.max_abs = scaled * 1e-6;
  e.p50_ulp = 1;
  e.p999_ulp = 30;
  e.headroom = scaled / 64;
  e.worst = ErrorView::Worst{};
  e.worst->terms = 64;
  r.error = e;
  return r;
}

RecordView record_of(std::vector<ResultView> rows) {
  RecordView record;
  record.name = "r.json";
  record.environment.device = "NVIDIA H200";
  record.environment.libraries = {{"cudnn", "9.14.0"}};
  record.results = std::move(rows);
  return record;
}

std::vector<Budget> budgets(const std::string& keys) {
  return parse_budgets("[[budget]]\n" + keys + "\ndate = 2026-11-29\nreason = \"why\"\nowner = \"who\"\n",
                       "b.toml");
}

std::vector<std::string> whats(const GateReport& report, Level level) {
  std::vector<std::string> list;
  for (const Finding& f : report.findings)
    if (f.level == level) list.push_back(f.what);
  return list;
}

std::string message(const GateReport& report, const std::string& what) {
  for (const Finding& f : report.findings)
    if (f.what == what) return f.message;
  return "";
}

GateReport gated(std::vector<ResultView> rows, const std::string& keys) {
  return gate(record_of(std::move(rows)), budgets("case = \"*\"\n" + keys), nullptr);
}

TEST(Gate, ALimitHoldsUpToItself) {
  EXPECT_EQ(gated({row("v", "fp32", 4)}, "max_scaled = 4").exit_code, 0);
  const GateReport over = gated({row("v", "fp32", 4)}, "max_scaled = 3.9");
  EXPECT_EQ(over.exit_code, 1);
  EXPECT_THAT(message(over, "over_budget"),
              HasSubstr("max_scaled is 4, the budget allows 3.9 (b.toml:1, who)"));
}

TEST(Gate, NanAndInfinityAreOverEveryBudget) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    ResultView r = row("v", "fp32", 4);
    r.error->max_scaled = bad;
    EXPECT_EQ(gated({r}, "max_scaled = 1e30").exit_code, 1);
  }
  ResultView none = row("v", "fp32", 4);
  none.error->max_scaled.reset();
  EXPECT_EQ(whats(gated({none}, "max_scaled = 5"), Level::failure),
            std::vector<std::string>{"unresolved_limit"});
}

TEST(Gate, DerivedLimits) {
  EXPECT_EQ(gated({row("v", "fp32", 32)}, "max_abs = \"0.5x bound\"").exit_code, 0);
  EXPECT_EQ(gated({row("v", "fp32", 33)}, "max_abs = \"0.5x bound\"").exit_code, 1);
  EXPECT_EQ(gated({row("v", "fp32", 2)}, "max_abs = \"2x expected_max\"").exit_code, 0);
  EXPECT_EQ(gated({row("v", "fp32", 2.1)}, "max_abs = \"2x expected_max\"").exit_code, 1);
  const std::string both = "max_scaled = \"2x cudnn:strict\"";
  EXPECT_EQ(gated({row("cudnn", "strict", 3), row("v", "fp32", 6)}, both).exit_code, 0);
  EXPECT_EQ(gated({row("cudnn", "strict", 3), row("v", "fp32", 6.1)}, both).exit_code, 1);
  EXPECT_EQ(gated({row("cudnn", "strict", 3), row("v", "fp32", 6.1)}, "max_scaled = \"2x vendor:strict\"")
                .exit_code,
            1);
  // What it refers to must be there, and must have passed.
  EXPECT_EQ(whats(gated({row("v", "fp32", 1)}, both), Level::failure),
            std::vector<std::string>{"unresolved_limit"});
  EXPECT_THAT(message(gated({row("cudnn", "strict", 3, Verdict::skipped), row("v", "fp32", 1)}, both),
                      "unresolved_limit"),
              HasSubstr("cudnn:strict has not passed"));
  ResultView unbounded = row("v", "fp32", 1);
  unbounded.error->unbounded = 2;
  EXPECT_EQ(gated({unbounded}, "max_abs = \"bound\"").exit_code, 1);
}

TEST(Gate, VerdictsThatDoNotPassFailUnlessAllowed) {
  for (const Verdict v :
       {Verdict::violated, Verdict::structural, Verdict::unexplained, Verdict::nondeterministic}) {
    EXPECT_EQ(gate(record_of({row("v", "fp32", 1, v)}), {}, nullptr).exit_code, 1) << to_string(v);
    EXPECT_EQ(gated({row("v", "fp32", 1, v)}, "max_scaled = 2").exit_code, 1) << to_string(v);
    const GateReport allowed =
        gated({row("v", "fp32", 1, v)}, "max_scaled = 2\nverdicts = [\"" + std::string(to_string(v)) + "\"]");
    EXPECT_EQ(allowed.exit_code, 0) << to_string(v);
    EXPECT_THAT(message(allowed, "allowed"), HasSubstr("why"));
  }
  EXPECT_EQ(gated({row("v", "fp32", 1)}, "verdicts = [\"explained\"]").exit_code, 1);
  EXPECT_EQ(gate(record_of({row("v", "fp32", 1, Verdict::error)}), {}, nullptr).exit_code, 2);
}

TEST(Gate, NothingPassedIsNoPass) {
  EXPECT_EQ(gate(record_of({}), {}, nullptr).exit_code, 3);
  EXPECT_EQ(gate(record_of({row("v", "fp32", 1, Verdict::skipped)}), {}, nullptr).exit_code, 3);
  EXPECT_EQ(gate(record_of({row("v", "fp32", 1, Verdict::vacuous)}), {}, nullptr).exit_code, 3);
}

TEST(Gate, WordsAgainstFigures) {
  ResultView beyond = row("v", "fp32", 1);
  beyond.error->beyond_bound = 1;
  ResultView outside = row("v", "fp32", 100);
  ResultView unequal = row("v", "fp32", 1, Verdict::identical);
  unequal.error->equal_bits = 15;
  ResultView unexplained = row("v", "fp32", 1, Verdict::explained);
  unexplained.plan = "fp32 | fma";
  unexplained.bit_identical = 0.999;
  ResultView empty = row("v", "fp32", 1);
  empty.judged_outputs = 0;
  ResultView mismatch = row("v", "fp32", 1);
  mismatch.error->nonfinite_mismatch = 1;
  for (const ResultView& r : {beyond, outside, unequal, unexplained, empty, mismatch})
    EXPECT_EQ(whats(gate(record_of({r}), {}, nullptr), Level::failure),
              std::vector<std::string>{"contradiction"});
}

TEST(Gate, RequiredBits) {
  ResultView r = row("v", "fp32", 1);
  EXPECT_EQ(gated({r}, "bits = [\"runs\"]").exit_code, 0);
  r.runs_identical.reset();
  EXPECT_EQ(gated({r}, "bits = [\"runs\"]").exit_code, 1);
  r = row("v", "fp32", 1);
  EXPECT_EQ(gated({r}, "bits = [\"batch\"]").exit_code, 1);
  EXPECT_THAT(message(gated({r}, "bits = [\"batch\"]"), "bits"),
              HasSubstr("ulpscope invariance --record RECORD"));
  r.batch_identical = false;
  EXPECT_EQ(gated({r}, "bits = [\"batch\"]").exit_code, 1);
  r.batch_identical = true;
  EXPECT_EQ(gated({r}, "bits = [\"batch\"]").exit_code, 0);
  // Where a try found no other batch, a note says why; bits that were seen to differ count all the same.
  r.batch_identical.reset();
  r.batch_not_applicable = "the batch is one row";
  const GateReport none = gated({r}, "bits = [\"batch\"]");
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(whats(none, Level::note), std::vector<std::string>{"not_applicable"});
  EXPECT_THAT(message(none, "not_applicable"), HasSubstr("the batch is one row"));
  r.batch_identical = false;
  EXPECT_EQ(gated({r}, "bits = [\"batch\"]").exit_code, 1);
  r.batch_identical = true;
  EXPECT_EQ(gated({r}, "bits = [\"plan\"]").exit_code, 1);
  r.declared_plan = r.plan = "fp32 | fma";
  r.bit_identical = 1;
  r.replayed_outputs = 15;
  EXPECT_EQ(gated({r}, "bits = [\"plan\"]").exit_code, 1);
  EXPECT_THAT(message(gated({r}, "bits = [\"plan\"]"), "bits"),
              HasSubstr("bit: replayed on 15 of 16 outputs, it gave 15 of 15"));
  r.replayed_outputs = 16;
  r.bit_identical = 0.9375;  // a share in the record, a count to people
  EXPECT_THAT(message(gated({r}, "bits = [\"plan\"]"), "bits"), HasSubstr("bit: replayed, it gave 15 of 16"));
  r.bit_identical.reset();
  EXPECT_THAT(message(gated({r}, "bits = [\"plan\"]"), "bits"), HasSubstr("bit: it was not replayed"));
  r.bit_identical = 1;
  r.replayed_outputs = 16;
  EXPECT_EQ(gated({r}, "bits = [\"plan\"]").exit_code, 0);
  EXPECT_EQ(gated({r}, "deterministic = true").exit_code, 0);
  r.notes = {"NONDETERMINISTIC"};
  EXPECT_EQ(gated({r}, "deterministic = true").exit_code, 1);
}

TEST(Gate, ViolationsOfTheCasesOwnToleranceOnly) {
  ResultView r = row("v", "fp32", 1);
  EXPECT_EQ(gated({r}, "violations = {atol = 1e-4}").exit_code, 1);  // not counted: not verified
  r.error->atol = 1e-4;
  r.error->rtol = 0;
  r.error->violations = 3;
  EXPECT_EQ(gated({r}, "violations = {atol = 1e-4}").exit_code, 1);
  EXPECT_EQ(gated({r}, "violations = {atol = 1e-4, most = 3}").exit_code, 0);
  EXPECT_EQ(gated({r}, "violations = {atol = 1e-3, most = 3}").exit_code, 1);
}

TEST(Gate, BudgetsAreLookedAtToo) {
  using List = std::vector<std::string>;
  EXPECT_EQ(whats(gated({row("v", "fp32", 1)}, "max_scaled = 2.1"), Level::warning), List{"headroom"});
  EXPECT_EQ(whats(gated({row("v", "fp32", 1)}, "max_scaled = 2"), Level::warning), List{});
  EXPECT_EQ(whats(gated({row("v", "fp32", 1)}, "variant = \"w\""), Level::warning),
            (List{"no_budget", "unused_budget"}));
  auto two = budgets("case = \"t/*\"\nmax_scaled = 1");
  two.push_back(budgets("case = \"*\"\nmax_scaled = 1")[0]);
  EXPECT_THAT(message(gate(record_of({row("v", "fp32", 1)}), two, nullptr), "unused_budget"),
              HasSubstr("later budgets decide all that this one matches: 1 result"));
}

// Within its bound, but not what the variant says of itself.
TEST(Gate, APlanThatDoesNotReplayIsTold) {
  ResultView r = row("v", "fp32", 1);
  r.declared_plan = "fp32 | fma";
  r.replayed_outputs = 16;
  r.bit_identical = 0.25;
  EXPECT_THAT(message(gated({r}, ""), "refuted_plan"), HasSubstr("`fp32 | fma` gives 4 of 16 outputs"));
  EXPECT_EQ(gated({r}, "").exit_code, 0);
  EXPECT_EQ(message(gated({r}, "bits = [\"plan\"]"), "refuted_plan"), "");  // a failure there
  EXPECT_EQ(gated({r}, "bits = [\"plan\"]").exit_code, 1);
  r.bit_identical = 1;
  EXPECT_EQ(message(gated({r}, ""), "refuted_plan"), "");
  r.bit_identical = 0.25;
  r.error->nonfinite = 1;
  EXPECT_EQ(message(gated({r}, ""), "refuted_plan"), "");
  r.error->nonfinite = 0;
  r.declared_plan.clear();  // a library's: nothing was promised
  EXPECT_EQ(message(gated({r}, ""), "refuted_plan"), "");
}

// 64 terms: losing one costs 2^24/64 = 262144 on the scale of max_scaled.
TEST(Gate, ALimitThatALostTermWouldPassIsCalledLoose) {
  EXPECT_EQ(message(gated({row("v", "fp32", 262143)}, "max_scaled = 262143"), "loose_budget"), "");
  EXPECT_THAT(message(gated({row("v", "fp32", 262145)}, "max_scaled = 262145"), "loose_budget"),
              HasSubstr("losing one of 64 terms costs about 2.621e+05"));
  EXPECT_THAT(message(gated({row("v", "fp32", 1)}, "max_abs = 50"), "loose_budget"), HasSubstr("only zeros"));
  EXPECT_EQ(message(gated({row("v", "fp32", 1)}, "max_abs = 1e-5"), "loose_budget"), "");
  // Another limit sees it.
  EXPECT_EQ(message(gated({row("v", "fp32", 1)}, "max_scaled = 262145\nmax_abs = 1e-5"), "loose_budget"), "");
}

GateReport against(const ResultView& before, const ResultView& after, const std::string& keys = "",
                   const std::string& cudnn = "9.14.0") {
  const RecordView baseline = record_of({before});
  RecordView record = record_of({after});
  record.environment.libraries["cudnn"] = cudnn;
  return gate(record, keys.empty() ? std::vector<Budget>{} : budgets("case = \"*\"\n" + keys), &baseline);
}

TEST(GateBaseline, WorseFailsUnlessABudgetOrAnExplanationDecides) {
  EXPECT_EQ(whats(against(row("v", "fp32", 1), row("v", "fp32", 1.01)), Level::failure),
            std::vector<std::string>{"worse"});
  EXPECT_EQ(against(row("v", "fp32", 1), row("v", "fp32", 1.01), "max_scaled = 1.5").exit_code, 0);
  EXPECT_EQ(against(row("v", "fp32", 1), row("v", "fp32", 1.01), "max_scaled = 1").exit_code, 1);
  const GateReport better = against(row("v", "fp32", 2), row("v", "fp32", 1));
  EXPECT_EQ(better.exit_code, 0);
  EXPECT_EQ(message(better, "better"), "max_scaled went from 2 to 1");
}

TEST(GateBaseline, AWorseMeanIsAWarning) {
  ResultView before = row("v", "fp32", 1), after = before;
  before.error->mean_abs = 1e-8;
  after.error->mean_abs = 1.2e-8;
  EXPECT_EQ(against(before, after).warnings, 0);
  after.error->mean_abs = 1.3e-8;
  EXPECT_EQ(whats(against(before, after), Level::warning), std::vector<std::string>{"worse_mean"});
  after.error->mean_abs = std::nan("");
  EXPECT_EQ(against(before, after).warnings, 1);
}

TEST(GateBaseline, AnotherOrderIsExplainedAndListed) {
  ResultView before = row("cudnn", "fp32", 1, Verdict::explained), after = before;
  before.plan = "fp32 | fma | order c kw";
  before.bit_identical = after.bit_identical = 1;
  after.plan = "fp32 | fma | order kw c | split 4";
  after.output_hash = "other";
  after.error->max_scaled = 1.2;
  const GateReport report = against(before, after, "", "9.15.0");
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_EQ(message(report, "bits_changed"),
            "bits changed: the order of additions changed, the arithmetic did not (cudnn 9.14.0 -> 9.15.0)");
  EXPECT_THAT(message(report, "worse_allowed"), HasSubstr("the arithmetic is still 'fp32 | fma'"));
  EXPECT_EQ(message(report, "environment"), "cudnn: 9.14.0 -> 9.15.0");
  after.plan = "tf32_rna | fma | order kw c";  // admitted or not: it is other arithmetic, and worse
  EXPECT_EQ(whats(against(before, after), Level::failure), std::vector<std::string>{"worse"});
}

TEST(GateBaseline, PromisedBits) {
  ResultView before = row("v", "fp32", 1), after = before;
  EXPECT_EQ(against(before, after, "bits = [\"baseline\"]").exit_code, 0);
  EXPECT_THAT(message(gated({row("v", "fp32", 1)}, "bits = [\"baseline\"]"), "bits"),
              HasSubstr("--baseline RECORD"));
  after.output_hash = "other";
  EXPECT_EQ(against(before, after).exit_code, 0);
  EXPECT_EQ(whats(against(before, after, "bits = [\"baseline\"]"), Level::failure),
            std::vector<std::string>{"bits"});
  before.mode = after.mode = "strict";
  EXPECT_EQ(against(before, after).exit_code, 1);
  EXPECT_EQ(against(before, after, "", "9.15.0").exit_code, 0);  // another library promises nothing
  after.output_hash.clear();
  EXPECT_EQ(against(before, after, "bits = [\"baseline\"]").exit_code, 1);
}

TEST(GateBaseline, MissingFailsAndNotRunIsNoPass) {
  const RecordView baseline = record_of({row("v", "fp32", 1), row("w", "fp32", 1)});
  const GateReport missing = gate(record_of({row("v", "fp32", 1)}), {}, &baseline);
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(whats(missing, Level::failure), std::vector<std::string>{"missing"});
  const GateReport skipped =
      gate(record_of({row("v", "fp32", 1), row("w", "fp32", 1, Verdict::skipped)}), {}, &baseline);
  EXPECT_EQ(skipped.exit_code, 3);
  EXPECT_EQ(whats(skipped, Level::unverified), std::vector<std::string>{"not_run"});
}

TEST(GateBaseline, OtherInputsCompareNothing) {
  ResultView after = row("v", "fp32", 0.5);
  after.input_hash = "other";
  const GateReport report = against(row("v", "fp32", 1), after);
  EXPECT_EQ(whats(report, Level::warning), std::vector<std::string>{"inputs_changed"});
  EXPECT_EQ(message(report, "better"), "");
}

// A wrong result fails its limits and its bits as well: one cause, one finding.
TEST(Gate, AFailingVerdictTakesWhatFollowsFromItAlong) {
  ResultView r = row("v", "fp32", 5.8e5, Verdict::structural);
  r.declared_plan = r.plan = "fp32 | fma";
  r.bit_identical = 0.9375;
  r.replayed_outputs = 16;
  ResultView other = row("w", "fp32", 5);  // fails by limits only: each is a finding
  other.error->max_abs = 1;
  const RecordView baseline = record_of({row("v", "fp32", 1), other});
  const auto rules =
      budgets("case = \"*\"\nmax_scaled = 4\nmax_abs = 0.1\nbits = [\"plan\", \"baseline\"]\n");
  r.output_hash = "other";
  const GateReport report = gate(record_of({r, other}), rules, &baseline);
  EXPECT_EQ(report.exit_code, 1);
  ASSERT_EQ(whats(report, Level::failure),
            (std::vector<std::string>{"verdict", "over_budget", "over_budget", "bits"}));
  EXPECT_EQ(report.failures, 4);
  const Finding& f = report.findings.front();
  std::vector<std::string> also;
  for (const Finding::Detail& d : f.details) also.push_back(d.what);
  EXPECT_EQ(also, (std::vector<std::string>{"over_budget", "over_budget", "bits", "bits"}));
  EXPECT_THAT(render_gate(report),
              HasSubstr("failure    verdict: t/gemm v fp32: structural: because (b.toml:1, "
                        "who)\n           also over_budget: max_scaled is 5.8e+05, the"));
  const nlohmann::json json = to_json(report)["findings"][0];
  EXPECT_EQ(json["details"].size(), 4u);
  EXPECT_EQ(json["details"][0]["what"], "over_budget");
  EXPECT_THAT(json["details"][2]["message"].get<std::string>(), HasSubstr("it gave 15 of 16"));
  EXPECT_THAT(github_annotations(report), HasSubstr("who)%0Aalso over_budget: max_scaled is 5.8e+05"));
  EXPECT_THAT(github_summary(report), HasSubstr("; also over\\_budget: max\\_scaled is 5.8e+05"));
  EXPECT_THAT(gitlab_code_quality(report), HasSubstr("; also bits: the declared plan"));
}

TEST(Gate, ResultsWithoutABudgetOrARunAreOneLine) {
  std::vector<ResultView> rows{row("v", "fp32", 1)};
  for (const char* variant : {"a", "b", "c"}) rows.push_back(row(variant, "fp32", 1));
  for (const char* variant : {"d", "e"}) rows.push_back(row(variant, "fp32", 1, Verdict::skipped));
  const GateReport report = gate(record_of(rows), budgets("case = \"*\"\nvariant = \"v\""), nullptr);
  EXPECT_EQ(report.warnings, 3);
  EXPECT_EQ(to_json(report)["findings"].size(), 5u);  // programs get each
  const std::string text = render_gate(report);
  EXPECT_THAT(text, HasSubstr("warning    no_budget: 3 results, the first t/gemm a fp32: no budget is set"));
  EXPECT_THAT(text, HasSubstr("note       skipped: 2 results, the first t/gemm d fp32: skipped: because\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_EQ(
      github_annotations(report),
      "::warning title=no_budget::3 results, the first t/gemm a fp32: no budget is set for this result\n");
}

TEST(GatePropose, ChangesNeedSomebodyToAnswerForThem) {
  const auto old = budgets("case = \"*\"\nvariant = \"v\"\nmax_scaled = 1");
  const RecordView record = record_of({row("v", "fp32", 3.3), row("w", "fp32", 1)});
  const std::string text = propose_budgets(record, old, gate(record, old, nullptr), "2026-12-01");
  EXPECT_THAT(text, HasSubstr("max_scaled RAISED from 1: the largest of 1 result is 3.3"));
  EXPECT_THAT(text, HasSubstr("NEW: had no budget"));
  EXPECT_THROW(parse_budgets(text, "p.toml"), Error);
  std::string answered = text;
  for (const char* key : {"reason = \"\"", "owner = \"\""})
    for (std::size_t at; (at = answered.find(key)) != std::string::npos;)
      answered.replace(at, std::string(key).size() - 1, std::string(key, std::string(key).size() - 1) + "me");
  const auto proposed = parse_budgets(answered, "p.toml");
  ASSERT_EQ(proposed.size(), 2u);
  EXPECT_EQ(proposed[0].limits[0].factor, 4.2);
  EXPECT_EQ(gate(record, proposed, nullptr).exit_code, 0);
  EXPECT_EQ(gate(record, proposed, nullptr).warnings, 0);
  // What fits stays as it is, with its owner.
  const auto fits = budgets("case = \"*\"\nmax_scaled = 4");
  EXPECT_NO_THROW(
      parse_budgets(propose_budgets(record, fits, gate(record, fits, nullptr), "2026-12-01"), "p"));
}

// What is broken is no measure: neither of a limit that is there nor of a new one.
TEST(GatePropose, NothingIsFittedToWhatIsBroken) {
  const auto old = budgets("case = \"*\"\nvariant = \"v*\"\nmax_scaled = 4");
  const auto proposed = [&](const std::vector<ResultView>& rows) {
    const RecordView record = record_of(rows);
    return propose_budgets(record, old, gate(record, old, nullptr), "2026-12-01");
  };
  const auto named = [](const char* test, ResultView r) {
    r.test = test;
    return r;
  };
  for (const Verdict bad : {Verdict::violated, Verdict::structural, Verdict::nondeterministic,
                            Verdict::unexplained, Verdict::error}) {
    SCOPED_TRACE(to_string(bad));
    const std::string none = proposed({row("v", "fp32", 5.8e5, bad)});
    EXPECT_THAT(none, HasSubstr("max_scaled = 4\n"));
    EXPECT_THAT(none, Not(HasSubstr("RAISED")));
    EXPECT_THAT(none, HasSubstr("reason = \"why\""));  // unchanged, so still answered for
    EXPECT_THAT(none,
                HasSubstr(std::string("# left out: t/gemm / v / fp32: ") + to_string(bad) + ": because"));
    const std::string some = proposed({row("v", "fp32", 5.8e5, bad), named("t/good", row("v", "fp32", 8))});
    EXPECT_THAT(some,
                HasSubstr("RAISED from 4: the largest of 1 result is 8 (t/good / v / fp32)\n# left out: "
                          "t/gemm / v / fp32"));
    EXPECT_THAT(some, HasSubstr("max_scaled = 10\n"));
    const std::string without = proposed({named("u\nu", row("w", "fp32", 5.8e5, bad)), row("v", "fp32", 4)});
    EXPECT_THAT(without, Not(HasSubstr("NEW")));
    EXPECT_THAT(without, HasSubstr("none is proposed for what fails:\n# left out: u u / w / fp32: "));
    EXPECT_NO_THROW(parse_budgets(without, "p.toml"));
  }
  ResultView excused = row("v", "fp32", 8, Verdict::nondeterministic);
  excused.excused = true;
  EXPECT_THAT(proposed({excused}), HasSubstr("max_scaled = 10\n"));
  // Words against figures, and bits that the budget asks for: broken as well.
  ResultView contradicted = row("v", "fp32", 100);
  EXPECT_THAT(proposed({contradicted}), HasSubstr("left out: t/gemm / v / fp32: contradiction: "));
  const auto asked = [](ResultView r, const std::string& bits) {
    const auto rules = budgets("case = \"*\"\nmax_scaled = 4\nbits = [\"" + bits + "\"]");
    const RecordView record = record_of({std::move(r)});
    return propose_budgets(record, rules, gate(record, rules, nullptr), "2026-12-01");
  };
  ResultView bits = row("v", "fp32", 8);
  EXPECT_THAT(asked(bits, "batch"), HasSubstr("max_scaled = 10\n"));  // not tried is not wrong
  EXPECT_THAT(asked(bits, "plan"), HasSubstr("max_scaled = 10\n"));
  bits.batch_identical = false;
  EXPECT_THAT(asked(bits, "batch"), HasSubstr("left out: t/gemm / v / fp32: bits: the bits must not depend"));
  bits.bit_identical = 0.5;
  EXPECT_THAT(asked(bits, "plan"),
              HasSubstr("left out: t/gemm / v / fp32: bits: the declared plan must give"));
  // A verdict that a budget allows is allowed by itself: its figures are no measure of what comes next.
  const auto allowed = budgets("case = \"*\"\nmax_scaled = 4\nverdicts = [\"violated\"]");
  const RecordView violated = record_of({row("v", "fp32", 5.8e5, Verdict::violated)});
  EXPECT_THAT(propose_budgets(violated, allowed, gate(violated, allowed, nullptr), "2026-12-01"),
              HasSubstr("max_scaled = 4\n"));
  // Twelve are ten names and a number.
  std::vector<ResultView> many;
  for (int i = 0; i < 12; ++i)
    many.push_back(named(("t/" + std::to_string(i)).c_str(), row("v", "fp32", 9, Verdict::violated)));
  EXPECT_THAT(proposed(many), HasSubstr("left out: t/9 / v / fp32"));
  EXPECT_THAT(proposed(many), Not(HasSubstr("t/10")));
  EXPECT_THAT(proposed(many), HasSubstr("left out: 2 more"));
}

TEST(GatePropose, AFigureThatNoNumberCoversIsSaid) {
  const auto old = budgets("case = \"*\"\nmax_scaled = 4");
  ResultView r = row("v", "fp32", 4);
  r.error->max_scaled = std::numeric_limits<double>::infinity();
  const RecordView record = record_of({r});
  const std::string text = propose_budgets(record, old, gate(record, old, nullptr), "2026-12-01");
  EXPECT_THAT(text, HasSubstr("# no max_scaled fits: t/gemm / v / fp32 has inf"));
  EXPECT_THAT(text, HasSubstr("reason = \"why\""));
}

TEST(GatePropose, ABaselineKeepsWhatTheRecordCouldNotShow) {
  const auto text = [](const char* rows) {
    return std::string(R"({"schema":"ulpscope.run/1","environment":{},"results":[)") + rows + "]}";
  };
  const RecordView before = parse_record_view(
      text(R"({"case":"a","variant":"v","mode":"fp32","verdict":"bounded","output_hash":"1"},
              {"case":"b","variant":"v","mode":"fp32","verdict":"bounded","output_hash":"1"})"),
      "old");
  const RecordView after = parse_record_view(
      text(R"({"case":"a","variant":"v","mode":"fp32","verdict":"explained","output_hash":"2"},
              {"case":"b","variant":"v","mode":"fp32","verdict":"violated","output_hash":"2"})"),
      "new");
  const nlohmann::json proposed = propose_baseline(after, &before);
  ASSERT_EQ(proposed["results"].size(), 2u);
  EXPECT_EQ(proposed["results"][0]["output_hash"], "2");
  EXPECT_EQ(proposed["results"][1]["output_hash"], "1");
}

TEST(GateAnnotations, EscapedCutAndComplete) {
  GateReport report;
  for (int i = 0; i < 12; ++i)
    report.findings.push_back(
        {Level::failure, "worse", "a,b:c", "v", "fp32", "k/a,b.cu", 7, "100 %\nworse: x"});
  const std::string github = github_annotations(report);
  EXPECT_THAT(github,
              HasSubstr("::error file=k/a%2Cb.cu,line=7,title=worse a%2Cb%3Ac v fp32::100 %25%0Aworse: x\n"));
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = github.find("::error", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, 10u);
  EXPECT_THAT(github, HasSubstr("::notice title=ulpscope gate::12 errors and 0 warnings"));

  for (int i = 0; i < 20000; ++i)
    report.findings.push_back(
        {Level::note, "better", "case" + std::to_string(i), "v|w", "fp32", "", 1, std::string(100, 'x')});
  const std::string summary = github_summary(report);
  EXPECT_LE(summary.size(), 1000u * 1000u);
  EXPECT_GT(summary.size(), 900u * 1000u);
  EXPECT_THAT(summary, HasSubstr("v\\|w"));
  EXPECT_THAT(summary, HasSubstr(" more are in the gate's JSON."));

  report.findings.resize(12);
  report.findings[1].message = "another figure";
  const auto gitlab = nlohmann::json::parse(gitlab_code_quality(report));
  ASSERT_EQ(gitlab.size(), 12u);
  EXPECT_EQ(gitlab[0]["severity"], "critical");
  EXPECT_EQ(gitlab[0]["location"]["path"], "k/a,b.cu");
  EXPECT_EQ(gitlab[0]["location"]["lines"]["begin"], 7);
  EXPECT_EQ(gitlab[0]["fingerprint"], gitlab[1]["fingerprint"]);
}

TEST(Difference, SaysWhatChanged) {
  EXPECT_EQ(arithmetic_of("tf32_rna | block 8 frac 25 rz | order c/16 kw c | split 2 | out bf16"),
            "tf32_rna | block 8 frac 25 rz | out bf16");
  RecordView before = record_of({row("a", "fp32", 1), row("b", "fp32", 1)}), after = before;
  EXPECT_EQ(difference(before, after).unchanged, 2);
  EXPECT_TRUE(difference(before, after).results.empty());
  after.environment.device = "NVIDIA H100";
  after.results[0].output_hash = "other";
  after.results[1].variant = "c";
  const Difference d = difference(before, after);
  ASSERT_EQ(d.environment.size(), 1u);
  ASSERT_EQ(d.results.size(), 3u);
  EXPECT_TRUE(d.results[0].bits);
  EXPECT_THAT(d.results[0].explanation,
              HasSubstr("no plan is known on either side (device NVIDIA H200 -> NVIDIA H100)"));
  EXPECT_EQ(d.results[1].kind, ResultChange::Kind::removed);
  EXPECT_EQ(d.results[2].kind, ResultChange::Kind::added);
  EXPECT_THAT(render_difference(d), HasSubstr("device: NVIDIA H200 -> NVIDIA H100"));
}

}  // namespace
}  // namespace ulpscope
