#include "harness/record.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "harness/table.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

Result some_result(const char* variant, Mode mode) {
  Result r;
  r.test = parse_case("gemm 2x3 * 3x4 atol=1e-3");
  r.test.name = "test/gemm";
  r.variant = variant;
  r.mode = mode;
  r.executed = "host";
  r.evidence.outputs = 8;
  r.evidence.measured = Measurement{};
  r.evidence.measured->outputs = 8;
  r.evidence.measured->max_scaled = std::numeric_limits<double>::infinity();
  r.judgement = judge(r.evidence);
  return r;
}

Record some_record() {
  Record record;
  record.environment = {
      {"version", "0"}, {"argv", {"a"}}, {"started", "now"}, {"host", {{"name", "x"}, {"cores", 2}}}};
  for (const char* variant : {"zebra", "ant"})
    for (const Mode mode : {Mode::tf32, Mode::fp32}) {
      record.results.push_back(to_json(some_result(variant, mode)));
      record.timings.push_back(
          {{"case", "test/gemm"}, {"variant", variant}, {"mode", to_string(mode)}, {"device_ms", 1.5}});
    }
  sort_record(record);
  return record;
}

TEST(Record, IsSortedAndReadsBack) {
  const Record record = some_record();
  EXPECT_EQ(record.results[0]["variant"], "ant");
  EXPECT_EQ(record.results[0]["mode"], "fp32");
  EXPECT_EQ(record.results[3]["variant"], "zebra");
  EXPECT_EQ(record.results[3]["mode"], "tf32");
  EXPECT_EQ(record.results[0]["error"]["max_scaled"], "inf");  // JSON has no infinity
  const std::string path = testing::TempDir() + "ulpscope_record_" + std::to_string(getpid()) + ".json";
  write_record(path, record);
  EXPECT_EQ(to_text(read_record(path)), to_text(record));
  std::filesystem::remove(path);
  // Times are not part of the results.
  EXPECT_EQ(nlohmann::json(record.results).dump().find("device_ms"), std::string::npos);
}

TEST(Record, WithoutAToleranceViolationsAreNotClaimed) {
  Result r = some_result("v", Mode::fp32);
  EXPECT_EQ(to_json(r)["error"]["violations"], 0);
  r.test.tolerance.reset();
  EXPECT_TRUE(to_json(r)["error"]["violations"].is_null());
}

TEST(Record, FingerprintsForgetTheCommandLineAndTheTime) {
  nlohmann::json e = some_record().environment, f = e;
  f["argv"] = {"b"};
  f["started"] = "later";
  f["host"]["name"] = "y";
  EXPECT_EQ(environment_fingerprint(e), environment_fingerprint(f));
  f["host"]["cores"] = 3;
  EXPECT_NE(environment_fingerprint(e), environment_fingerprint(f));
}

TEST(Record, RefusesWhatItCannotMean) {
  nlohmann::json whole = nlohmann::json::parse(to_text(some_record()));
  auto refused = [](const std::string& text, const char* because) {
    try {
      parse_record(text, "r.json");
      ADD_FAILURE() << "accepted: " << because;
    } catch (const Error& e) {
      const std::string what = e.what();
      EXPECT_NE(what.find(because), std::string::npos) << what;
      EXPECT_NE(what.find("r.json"), std::string::npos) << what;
      EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    }
  };
  EXPECT_EQ(parse_record(whole.dump(), "r.json").results.size(), 4u);
  refused("", "no JSON");
  refused(whole.dump().substr(0, 500), "no JSON");
  refused("[]", "schema");
  refused("{}", "schema");
  refused(std::string(100, '[') + std::string(100, ']'), "nested");
  auto with = [&](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json changed = whole;
    change(changed);
    return changed.dump();
  };
  refused(with([](auto& j) { j["schema"] = "ulpscope.run/9"; }), "schema");
  refused(with([](auto& j) { j.erase("environment"); }), "environment");
  refused(with([](auto& j) { j["results"] = 3; }), "'results'");
  refused(with([](auto& j) { j["results"][0].erase("variant"); }), "variant");
  refused(with([](auto& j) { j["results"][0]["case"] = 1; }), "case");
  refused(with([](auto& j) { j["results"][0]["verdict"] = "fine"; }), "unknown verdict");
  refused(with([](auto& j) { j["results"][0].erase("verdict"); }), "verdict");
  refused(with([](auto& j) { j["results"][0]["excused"] = "yes"; }), "excused");
  refused(with([](auto& j) { j["results"][0]["error"] = 7; }), "'error'");
}

TEST(Table, ShowsEveryResultAndTheTally) {
  Record record = some_record();
  Result skipped = some_result("mole", Mode::fp32);
  skipped.evidence.status = "skipped";
  skipped.evidence.reason = "no GPU is here";
  skipped.evidence.measured.reset();
  skipped.judgement = judge(skipped.evidence);
  record.results.push_back(to_json(skipped));
  const std::string text = render_table(record);
  for (const char* word :
       {"ant", "zebra", "mole", "no GPU is here", "inf", "1.5", "5 results", "1 skipped", "gemm 2x3 * 3x4"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in\n" << text;
}

}  // namespace
}  // namespace ulpscope
