// What a reader takes from a record, and how it refuses what is none.
#include "reports/record_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reports/testing.hpp"
#include "reports/words.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kFull = ULPSCOPE_SOURCE_DIR "/reports/recorded/h200-full/conv_transpose1d.json";

std::string error_of(const std::string& text) {
  try {
    parse_record_view(text, "r.json");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(RecordView, ReadsARecordedRun) {
  const RecordView record = read_record_view(kFull);
  EXPECT_EQ(record.environment.device, "NVIDIA H200");
  EXPECT_FALSE(record.environment.libraries.at("cudnn").empty());
  ASSERT_EQ(record.results.size(), record.raw->at("results").size());
  int seen = 0;
  for (std::size_t i = 0; i < record.results.size(); ++i) {
    const ResultView& r = record.results[i];
    const json& row = record.raw->at("results")[i];
    EXPECT_EQ(r.variant, row["variant"].get<std::string>());
    EXPECT_EQ(to_string(r.verdict), row["verdict"].get<std::string>());
    if (r.variant != "gather_c_k") continue;
    ++seen;
    ASSERT_TRUE(r.error);
    EXPECT_EQ(*r.error->max_abs, row["error"]["max_abs"].get<double>());
    EXPECT_EQ(*r.error->headroom, row["error"]["headroom"].get<double>());
    EXPECT_EQ(*r.bound, row["bound"].get<double>());
    EXPECT_EQ(r.outputs, 268460032);
    EXPECT_EQ(r.plan, "fp32 | fma | order c kw");
    ASSERT_TRUE(r.error->worst);
    EXPECT_EQ(r.error->worst->coordinates.size(), 3u);
    EXPECT_TRUE(r.device_ms && *r.device_ms > 0);
  }
  EXPECT_EQ(seen, 1);
}

TEST(RecordView, TalliesAsTheExitCodeDoes) {
  RecordView record = read_record_view(kFull);
  const VerdictTally t = tally(record);
  EXPECT_EQ(t.of(Verdict::violated), 0);
  EXPECT_EQ(t.of(Verdict::nondeterministic), 1);
  EXPECT_EQ(t.excused, 1);
  EXPECT_EQ(t.failed, 0);
  EXPECT_EQ(t.exit_code, 0);
  EXPECT_EQ(t.passed + t.failed + t.neither + t.errors, static_cast<std::int64_t>(record.results.size()));
  record.results.back().verdict = Verdict::violated;
  const VerdictTally violated = tally(record);
  EXPECT_EQ(violated.of(Verdict::violated), 1);
  EXPECT_EQ(violated.passed, t.passed - 1);
  EXPECT_EQ(violated.failed, 1);
  EXPECT_EQ(violated.exit_code, 1);
}

const char* const kOne = R"({"schema": "ulpscope.run/1", "environment": {"device": {"available": false}},
 "results": [{"case": "c", "variant": "v", "mode": "fp32", "verdict": "violated", "outputs": 7, "later": [1],
   "error": {"max_abs": "inf", "mean_abs": "nan", "ulp_histogram": [{"up_to": 0.5, "outputs": 7}],
     "strata": {"channel": null, "terms": [{"terms": 3, "outputs": 7, "max_abs": 1, "max_scaled": 2}],
       "position": {"modulo": 2, "max_scaled": [1, "inf"]}}}}]})";

TEST(RecordView, KeepsInfinityHistogramStrataAndUnknownFields) {
  const RecordView record = parse_record_view(kOne, "r.json");
  const ErrorView& e = *record.results.at(0).error;
  EXPECT_TRUE(std::isinf(*e.max_abs));
  EXPECT_TRUE(std::isnan(*e.mean_abs));
  EXPECT_FALSE(e.headroom);
  ASSERT_EQ(e.ulp_histogram.size(), 1u);
  EXPECT_EQ(e.ulp_histogram[0].outputs, 7);
  ASSERT_EQ(e.by_terms.size(), 1u);
  EXPECT_EQ(e.by_terms[0].max_scaled, 2.0);
  EXPECT_EQ(e.channels_per_group, 0);
  ASSERT_EQ(e.position_max_scaled.size(), 2u);
  EXPECT_TRUE(std::isinf(e.position_max_scaled[1]));
  EXPECT_EQ(record.raw->at("results")[0]["later"][0], 1);
  EXPECT_EQ(record.environment.device, "");
}

// What is shown of who did the work: no GPU, process or host of a shared run is left out.
TEST(RecordView, ListsDevicesWorkersAndHosts) {
  json whole = json::parse(kOne);
  whole["environment"]["devices"] = json::parse(R"([
    {"index": 0, "name": "NVIDIA H200", "uuid": "GPU-a", "host": "first", "arithmetic_agrees": true},
    {"index": 1, "name": "NVIDIA H200", "uuid": null, "host": null, "arithmetic_agrees": false,
     "arithmetic_reason": "frac is 24"}])");
  whole["environment"]["workers"] = json::parse(R"([
    {"name": "GPU 0", "threads": 8, "cases": 1, "started": 1},
    {"name": "GPU 1", "threads": 1, "cases": 0, "started": 2, "gone": "killed"}])");
  whole["environment"]["merged"] = json::parse(R"({"records": 2, "hosts": ["first", null]})");
  using Line = std::pair<std::string, std::string>;
  const std::vector<Line> lines = environment_lines(parse_record_view(whole.dump(), "r.json").environment);
  for (const Line& line : {Line{"GPU 0", "NVIDIA H200, GPU-a, first"},
                           Line{"GPU 1", "NVIDIA H200, arithmetic unlike the table: frac is 24"},
                           Line{"worker GPU 0", "1 case, 8 threads"},
                           Line{"worker GPU 1", "0 cases, 1 thread, started 2 times, given up: killed"},
                           Line{"merged", "2 records, first"}})
    EXPECT_THAT(lines, ::testing::Contains(line));
}

// What a gate reads: the same results, and a document that lacks what only explains.
TEST(RecordView, LeavesOutWhatExplains) {
  json record = json::parse(testing_reports::explained_record());
  record["results"][0]["error"]["explanation"] = {{"kept", 1}};
  record["environment"]["cases"] = {1, 2};
  record["results"][1]["reason"] = R"(it says "explanation": {"a": 1} \)";
  const RecordView whole = parse_record_view(record.dump(), "r.json");
  const RecordView thin = parse_record_view(record.dump(1), "r.json", explaining_places());
  EXPECT_EQ(*whole.raw, record);
  record.erase("cases");
  for (json& r : record["results"]) EXPECT_EQ(r.erase("explanation"), 1u);
  EXPECT_EQ(*thin.raw, record);
  ASSERT_EQ(thin.results.size(), 3u);
  EXPECT_EQ(thin.results[1].reason, whole.results[1].reason);
}

TEST(RecordView, NamesThePlaceOfAWrongType) {
  json whole = json::parse(kOne);
  whole["results"][0]["error"]["max_abs"] = "much";
  EXPECT_THAT(error_of(whole.dump()), HasSubstr("r.json.results[0].error: 'max_abs' must be a number"));
  whole = json::parse(kOne);
  whole["results"][0]["verdict"] = "fine";
  EXPECT_THAT(error_of(whole.dump()), HasSubstr("r.json.results[0]: unknown verdict 'fine'"));
}

TEST(RecordView, RefusesWhatIsNoRecord) {
  EXPECT_THAT(error_of("{\"schema\": \"ulpscope.run/1\", "), HasSubstr("no JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("no 'schema'"));
  EXPECT_THAT(error_of(R"({"schema": "ulpscope.explain/1"})"), HasSubstr("its schema is"));
  EXPECT_THAT(error_of(R"({"schema": "ulpscope.run/1"})"), HasSubstr("'environment'"));
  EXPECT_THAT(error_of(R"({"schema": "ulpscope.run/1", "environment": {}})"), HasSubstr("'results'"));
  EXPECT_THAT(error_of(std::string(1000, '[')), HasSubstr("nested"));
  json twice = json::parse(kOne);
  twice["results"].push_back(twice["results"][0]);
  EXPECT_THAT(error_of(twice.dump()), HasSubstr("two results of c / v / fp32"));
  EXPECT_THROW(read_record_view("/nowhere/r.json"), Error);
  EXPECT_THROW(read_record_view("/"), Error);
  // Brackets within texts are no nesting.
  EXPECT_EQ(error_of(R"({"schema": "ulpscope.run/1", "environment": {"x": ")" + std::string(99, '[') +
                     R"(\"[", "y": []}, "results": []})"),
            "");
}

// Every field in turn gets every wrong type: an Error of one line or a record, nothing else.
TEST(RecordView, SurvivesWrongTypesEverywhere) {
  const json whole = json::parse(kOne).flatten();
  int refused = 0;
  for (const auto& [pointer, old] : whole.items())
    for (const json& wrong : {json("x"), json(1.5), json(true), json::array({1}), json::object({{"a", 1}})}) {
      json changed = json::parse(kOne);
      changed[json::json_pointer(pointer)] = wrong;
      const std::string message = error_of(changed.dump());
      refused += !message.empty();
      EXPECT_EQ(message.find('\n'), std::string::npos);
    }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace ulpscope
