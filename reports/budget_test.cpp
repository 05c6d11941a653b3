#include "reports/budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

using ::testing::HasSubstr;

const char* const kWho = "date = 2026-11-29\nreason = \"why\"\nowner = \"who\"\n";

std::string rule(const std::string& keys) {
  return "[[budget]]\n" + keys + "\n" + kWho;
}

std::string refusal(const std::string& toml) {
  try {
    parse_budgets(toml, "b.toml");
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "accepted";
}

TEST(Budget, ReadsEveryKey) {
  const auto budgets = parse_budgets(rule(R"(case = "a/*"
variant = "tile_*"
mode = "fp32"
max_scaled = 12.5
max_abs = "2x cudnn:strict"
p999_ulp = 64
violations = {atol = 1e-4, rtol = 1e-5, most = 3}
verdicts = ["bounded", "violated"]
bits = ["runs", "batch", "plan", "baseline"]
deterministic = true)"),
                                     "b.toml");
  ASSERT_EQ(budgets.size(), 1u);
  const Budget& b = budgets[0];
  EXPECT_TRUE(b.matches("a/b/c", "tile_64", "fp32"));
  EXPECT_FALSE(b.matches("a/b", "tile_64", "tf32"));
  EXPECT_FALSE(b.matches("a/b", "naive", "fp32"));
  ASSERT_EQ(b.limits.size(), 3u);
  EXPECT_EQ(b.limits[0].factor, 12.5);
  EXPECT_EQ(b.limits[1].base, Limit::Base::result);
  EXPECT_EQ(b.limits[1].factor, 2);
  EXPECT_EQ(b.limits[1].variant, "cudnn");
  EXPECT_EQ(b.violations->most, 3);
  EXPECT_TRUE(b.allows(Verdict::violated));
  EXPECT_FALSE(b.allows(Verdict::explained));
  EXPECT_TRUE(b.bits_of_runs && b.bits_of_batch && b.bits_of_plan && b.bits_of_baseline && b.deterministic);
  EXPECT_EQ(b.date, "2026-11-29");
  EXPECT_EQ(b.line, 1);
}

TEST(Budget, TheLastThatMatchesDecides) {
  const auto budgets = parse_budgets(
      rule("case = \"*\"") + rule("case = \"a/*\"") + rule("case = \"a/x\"\nmode = \"tf32\""), "b.toml");
  EXPECT_EQ(deciding_budget(budgets, "b/x", "v", "fp32"), 0);
  EXPECT_EQ(deciding_budget(budgets, "a/x", "v", "fp32"), 1);
  EXPECT_EQ(deciding_budget(budgets, "a/x", "v", "tf32"), 2);
  EXPECT_EQ(deciding_budget({budgets[2]}, "a/y", "v", "tf32"), -1);
}

TEST(Budget, NobodysBudgetIsRefused) {
  for (const char* key : {"date", "reason", "owner"}) {
    std::string toml = rule("case = \"*\"");
    const std::size_t at = toml.find(key);
    toml.erase(at, toml.find('\n', at) + 1 - at);
    EXPECT_THAT(refusal(toml), ::testing::AllOf(HasSubstr("b.toml:1:"), HasSubstr(key)));
  }
  std::string empty = rule("case = \"*\"");
  empty.replace(empty.find("\"why\""), 5, "\" \"");
  EXPECT_THAT(refusal(empty), HasSubstr("reason must be a non-empty string"));
}

TEST(Budget, ADateIsADay) {
  for (const char* bad : {"2026-13-01", "2026-02-30", "2026-1-1", "yesterday", "2026-11-29T00:00:00"}) {
    std::string toml = rule("case = \"*\"");
    toml.replace(toml.find("2026-11-29"), 10, "\"" + std::string(bad) + "\"");
    EXPECT_THAT(refusal(toml), HasSubstr("date must be a day")) << bad;
  }
}

TEST(Budget, RefusalsNameFileLineAndKey) {
  EXPECT_THAT(refusal(rule("case = \"*\"\nmax_ulp = 3")), HasSubstr("b.toml:3: the largest ULP is no limit"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nmax_scald = 3")), HasSubstr("did you mean 'max_scaled'?"));
  EXPECT_THAT(refusal(rule("max_scaled = 3")), HasSubstr("no 'case'"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nmax_scaled = nan")), HasSubstr("finite number of at least 0"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nmax_scaled = inf")), HasSubstr("finite number of at least 0"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nmax_scaled = -1")), HasSubstr("finite number of at least 0"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nmax_scaled = \"2x expected_max\"")),
              HasSubstr("use it with max_abs"));
  EXPECT_THAT(refusal(rule("case = \"*\"\np50_ulp = \"bound\"")), HasSubstr("no percentile"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nmax_abs = \"twice bound\"")), HasSubstr("it is a number, or"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nmax_abs = \"0x bound\"")), HasSubstr("above 0"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nverdicts = [\"skipped\"]")),
              HasSubstr("no budget allows 'skipped'"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nverdicts = [\"fine\"]")), HasSubstr("unknown verdict"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nbits = [\"run\"]")), HasSubstr("did you mean 'runs'?"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nviolations = {most = 1}")), HasSubstr("need the tolerance"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nviolations = {atol = 1, most = 0.5}")), HasSubstr("whole number"));
  EXPECT_THAT(refusal(rule("case = \"*\"\nmax_abs = [")), HasSubstr("b.toml:"));
  EXPECT_THAT(refusal(""), HasSubstr("holds no [[budget]]"));
  EXPECT_THAT(refusal("[budget]\ncase = \"*\""), HasSubstr("two brackets"));
}

TEST(Budget, TextParsesBack) {
  const std::string toml = rule(R"(case = "a \"b\" \\ c"
variant = "v"
max_scaled = "0.5x bound"
max_abs = "2x expected_max"
p50_ulp = 3.25
violations = {atol = 0.0001, rtol = 0.0, most = 3}
verdicts = ["bounded"]
bits = ["runs", "baseline"]
deterministic = true)");
  const Budget b = parse_budgets(toml, "b.toml").at(0);
  const std::string text = to_toml(b, {"a comment\nof two lines"});
  EXPECT_EQ(to_toml(parse_budgets(text, "b.toml").at(0), {"a comment\nof two lines"}), text);
  EXPECT_EQ(b.case_pattern, "a \"b\" \\ c");
}

TEST(Budget, TheProjectsOwnAreAccepted) {
  EXPECT_GE(read_budgets(ULPSCOPE_SOURCE_DIR "/cases/budgets/project.toml").size(), 2u);
}

}  // namespace
}  // namespace ulpscope
