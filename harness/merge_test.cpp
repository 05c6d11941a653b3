#include "harness/merge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "harness/judge_capture.hpp"
#include "harness/selection.hpp"
#include "harness/suite.hpp"
#include "harness/sweep.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::vector<Case> some_cases(int n) {
  std::vector<Case> cases;
  for (int i = 0; i < n; ++i) {
    cases.push_back(
        parse_case("gemm 3x" + std::to_string(4 + i) + " * " + std::to_string(4 + i) + "x2 seed=1"));
    cases.back().name = "t/" + std::to_string(i);
  }
  return cases;
}

std::string refusal(std::vector<NamedRecord> records) {
  try {
    merge_records(std::move(records));
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Shard, DealsOutEveryCaseOnce) {
  const std::vector<Case> all = some_cases(11);
  for (const int n : {1, 2, 3, 11}) {
    std::vector<std::string> seen;
    for (int i = 1; i <= n; ++i)
      for (const Case& c : dealt(Shard{i, n}, Selection{all, {}, {}}).cases) seen.push_back(c.name);
    EXPECT_EQ(seen.size(), 11u);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  }
  EXPECT_THROW(dealt(Shard{12, 12}, Selection{all, {}, {}}), Error);
  for (const char* bad : {"", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "a/b", "1/2 ", "1/9999999999"})
    EXPECT_THROW(parse_shard(bad), Error) << bad;
}

TEST(Merge, ShardsGiveWhatOneRunGivesByteForByte) {
  const std::vector<Case> cases = some_cases(7);
  RunOptions options;
  options.device = DeviceChoice::cpu;
  options.threads = 1;
  const Selection all{cases, {}, {cases[2]}};
  const Record whole = run_selection(all, options);
  std::vector<NamedRecord> shards;
  for (const int i : {3, 1, 2}) {
    Record r = run_selection(dealt(Shard{i, 3}, all), options);
    r.environment["shard"] = shard_note({i, 3}, all, {});
    // Through text, as files go.
    shards.push_back({"s" + std::to_string(i), parse_record(to_text(r), "s")});
  }
  const Record merged = merge_records(shards);
  EXPECT_EQ(json(merged.results).dump(1), json(whole.results).dump(1));
  EXPECT_EQ(json(merged.cases).dump(1), json(whole.cases).dump(1));
  EXPECT_EQ(whole.cases.size(), cases.size());
  EXPECT_GE(whole.cases[0]["drift"]["rows"].size(), 20u);
  EXPECT_TRUE(whole.results[0].contains("explanation"));
  EXPECT_EQ(merged.timings.size(), whole.timings.size());
  EXPECT_FALSE(merged.environment.contains("shard"));
  EXPECT_EQ(merged.environment["merged"]["records"], 3);

  std::vector<NamedRecord> two(shards.begin(), shards.begin() + 2);
  EXPECT_THAT(refusal(two), HasSubstr("1 of 3 shards are missing: 2"));
  two.push_back(shards[0]);
  EXPECT_THAT(refusal(two), HasSubstr("'s3' and 's3' are both shard 3"));
  auto other = shards;
  other[1].record.environment["shard"] = shard_note({1, 3}, {some_cases(8), {}, {}}, {});
  EXPECT_THAT(refusal(other), HasSubstr("different runs"));
  other = shards;
  other[1].record.environment.erase("shard");
  EXPECT_THAT(refusal(other), HasSubstr("'s3' is a shard and 's1' is none"));
}

NamedRecord record(const std::string& name, const std::string& test) {
  Record r;
  r.environment = {{"version", "1"},
                   {"host", {{"name", name}}},
                   {"device", {{"name", "H200"}, {"index", 0}}},
                   {"libraries", {{"cudnn", "9.14"}}}};
  r.results = {{{"case", test}, {"variant", "v"}, {"mode", "fp32"}, {"verdict", "bounded"}}};
  return {name, r};
}

TEST(Merge, RefusesWhatDoesNotBelongTogether) {
  EXPECT_EQ(refusal({record("a", "x"), record("b", "y")}), "accepted");
  EXPECT_THAT(refusal({record("a", "x"), record("b", "x")}), HasSubstr("is in 'a' and in 'b'"));
  NamedRecord upgraded = record("b", "y");
  upgraded.record.environment["libraries"]["cudnn"] = "9.15";
  EXPECT_THAT(refusal({record("a", "x"), upgraded}),
              HasSubstr("different environments: libraries/cudnn is 9.14 and 9.15"));
  NamedRecord other_gpu = record("b", "y");
  other_gpu.record.environment["device"]["index"] = 1;
  EXPECT_EQ(refusal({record("a", "x"), other_gpu}), "accepted");
  other_gpu.record.environment["device"]["name"] = "A100";
  EXPECT_THAT(refusal({record("a", "x"), other_gpu}), HasSubstr("device/name is H200 and A100"));
  EXPECT_THAT(refusal({}), HasSubstr("nothing to merge"));
}

TEST(Suite, ReadsAndRefuses) {
  const Suite s = parse_suite("cases = [\"a\"]\nsweep = 3\ndevice = \"cpu\"", "s.toml", "s");
  EXPECT_EQ(s.cases.size(), 1u);
  EXPECT_EQ(s.sweep, 3);
  EXPECT_EQ(s.device, "cpu");
  const auto refused = [](const char* text) {
    try {
      parse_suite(text, "s.toml", "s");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused("case = [\"a\"]"), HasSubstr("s.toml:1: unknown key 'case': did you mean 'cases'?"));
  EXPECT_THAT(refused("cases = [1]"), HasSubstr("list of strings"));
  EXPECT_THAT(refused("about = \"x\""), HasSubstr("selects nothing"));
  EXPECT_THAT(refused("cases = ["), HasSubstr("s.toml:1:"));
  EXPECT_THROW(read_suite(ULPSCOPE_SOURCE_DIR "/cases", "no"), Error);
}

// The committed suites name only what is there.
TEST(Suite, TheProjectsOwnSelectSomething) {
  const std::string folder = ULPSCOPE_SOURCE_DIR "/cases";
  const std::vector<Case> all = load_cases(folder);
  for (const char* name : {"smoke", "ci", "nightly"}) {
    const Suite s = read_suite(folder, name);
    EXPECT_FALSE(select_cases(all, s.cases).empty()) << name;
    if (!s.drift.empty()) {
      EXPECT_FALSE(select_cases(all, s.drift).empty()) << name;
    }
    if (!s.captures.empty()) {
      EXPECT_GE(capture_paths(s.captures).size(), 8u) << name;
    }
    Selection selection{select_cases(all, s.cases), capture_paths(s.captures), {}};
    if (s.sweep > 0)
      for (Case& c : sweep_cases(s.sweep, 1)) selection.cases.push_back(std::move(c));
    EXPECT_NO_THROW(check_repeats(selection, {})) << name;
  }
}

// Hours of work must not end in a record that is refused.
TEST(Suite, ResultsThatWouldBeThereTwiceAreRefusedFirst) {
  Case test = parse_case("gemm 3x5 * 5x4 seed=4");
  test.name = "t/twice";
  RunOptions options;
  options.variants = {"host_naive"};
  options.device = DeviceChoice::cpu;
  options.captures = testing::TempDir() + "twice";
  std::filesystem::remove_all(options.captures);
  run_cases({test}, options);
  const std::vector<std::string> captures = capture_paths({options.captures});
  ASSERT_EQ(captures.size(), 1u);
  options.progress = [](const std::string& line) { ADD_FAILURE() << "work was begun: " << line; };
  const auto refused = [&](const Selection& selection) {
    try {
      run_selection(selection, options);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused({{test}, captures, {}}),
              HasSubstr("a second result of t/twice host_naive fp32, after this run"));
  EXPECT_THAT(refused({{}, {captures[0], captures[0]}, {}}), HasSubstr("leave one of them out"));
}

TEST(Suite, OrdersOfACaseKeepTheirBoundsAndEachOthers) {
  Case test = parse_case("gemm 8x65 * 65x8 a=normal(0,1) b=normal(0,1) seed=4");
  test.name = "t/drift";
  const Result r = judge_drift(test, 2);
  EXPECT_EQ(r.judgement.verdict, Verdict::bounded) << r.judgement.reason;
  EXPECT_EQ(r.executed, "replay");
  EXPECT_GT(r.evidence.measured->max_abs, 0);
  EXPECT_THAT(r.judgement.reason, HasSubstr("orders of 'fp32 fma'"));
}

}  // namespace
}  // namespace ulpscope
