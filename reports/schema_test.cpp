// The published schemas: every recorded and every freshly written document fits, and planted mistakes do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "reports/testing.hpp"

namespace ulpscope {
namespace {

using namespace testing_reports;
using nlohmann::json;
using ::testing::HasSubstr;

const std::string kRoot = ULPSCOPE_SOURCE_DIR;
const std::string kBinary = ULPSCOPE_BINARY;

Ran validate(const std::string& schema, std::vector<std::string> files) {
  files.insert(files.begin(), {"/usr/bin/python3", kRoot + "/reports/schema/validate.py",
                               kRoot + "/reports/schema/" + schema + ".schema.json"});
  return ran(quoted(files));
}

std::vector<std::string> recorded_runs() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot + "/reports/recorded"))
    if (entry.path().extension() == ".json") {
      const json document = json::parse(std::ifstream(entry.path()), nullptr, false);
      if (document.is_object() && document.value("schema", "") == "ulpscope.run/1")
        files.push_back(entry.path().string());
    }
  return files;
}

TEST(RunSchema, FitsRecordedAndFreshRecords) {
  const std::string folder = fresh_folder("schema");
  std::vector<std::string> files = recorded_runs();
  ASSERT_GE(files.size(), 2u);
  const std::string fresh = folder + "/run.json", judged = folder + "/judged.json";
  const Ran run =
      ran(quoted({kBinary, "run", "gemm 8x64 * 64x8 a=uniform(0,1) seed=1", "conv2d 1x2x6x6 * 3x2x3x3 seed=2",
                  "--device", "auto", "--json", fresh, "--captures", folder + "/captures"}));
  ASSERT_EQ(run.code, 0) << run.output;
  std::vector<std::string> words{kBinary, "judge", "--json", judged};
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/captures"))
    if (entry.path().extension() == ".npz") words.push_back(entry.path().string());
  ASSERT_GT(words.size(), 5u);
  ran(quoted(words));
  const std::string merged = folder + "/merged.json";
  std::vector<std::string> merge{kBinary, "merge", "--out", merged};
  merge.insert(merge.end(), files.begin(), files.end());
  ran(quoted(merge));
  if (std::filesystem::exists(merged)) files.push_back(merged);  // records of one environment
  files.insert(files.end(), {fresh, judged});
  const Ran checked = validate("run", files);
  EXPECT_EQ(checked.code, 0) << checked.output;
  std::filesystem::remove_all(folder);
}

TEST(ExplainSchema, FitsWithAndWithoutAReference) {
  const std::string folder = fresh_folder("explain-schema");
  const std::string dumps = kRoot + "/reports/recorded/pytorch-2.11-h200/conv2d_pointwise_uniform.npz:";
  const std::vector<std::string> base{kBinary,     "explain",  "--op",      "conv2d",      "--input",
                                      dumps + "x", "--weight", dumps + "w", "--candidate", dumps + "y_fp32"};
  std::vector<std::string> with = base, without = base;
  with.insert(with.end(), {"--reference", dumps + "y_tf32", "--json", folder + "/with.json"});
  without.insert(without.end(), {"--json", folder + "/without.json"});
  ASSERT_EQ(ran(quoted(with)).code, 0);
  ASSERT_EQ(ran(quoted(without)).code, 0);
  const Ran checked = validate("explain", {folder + "/with.json", folder + "/without.json"});
  EXPECT_EQ(checked.code, 0) << checked.output;
  std::filesystem::remove_all(folder);
}

// One file per mistake, all judged in one run of the validator: each must be complained about.
TEST(RunSchema, RefusesPlantedMistakes) {
  const std::string folder = fresh_folder("schema-mistakes");
  const json good = json::parse(std::ifstream(kRoot + "/reports/recorded/h200-full/conv_transpose1d.json"));
  std::size_t judged = 0, skipped = 0;
  for (std::size_t i = 0; i < good["results"].size(); ++i)
    (good["results"][i]["verdict"] == "skipped" ? skipped : judged) = i;
  ASSERT_EQ(good["results"][judged]["verdict"], "explained");
  ASSERT_EQ(good["results"][skipped]["verdict"], "skipped");
  using Plant = std::function<void(json&)>;
  const std::vector<std::pair<std::string, Plant>> mistakes{
      {"schema", [](json& r) { r["schema"] = "ulpscope.run/2"; }},
      {"no_environment", [](json& r) { r.erase("environment"); }},
      {"verdict", [&](json& r) { r["results"][judged]["verdict"] = "passed"; }},
      {"no_verdict", [&](json& r) { r["results"][judged].erase("verdict"); }},
      {"mode", [&](json& r) { r["results"][judged]["mode"] = "fp8"; }},
      {"executed", [&](json& r) { r["results"][judged]["executed"] = "simulated"; }},
      {"hash", [&](json& r) { r["results"][judged]["output_hash"] = "abc"; }},
      {"share", [&](json& r) { r["results"][judged]["bit_identical"] = 1.5; }},
      {"negative_error", [&](json& r) { r["results"][judged]["error"]["max_abs"] = -1; }},
      {"error_text", [&](json& r) { r["results"][judged]["error"]["mean_abs"] = "small"; }},
      {"no_headroom", [&](json& r) { r["results"][judged]["error"].erase("headroom"); }},
      {"pass_unjudged", [&](json& r) { r["results"][judged]["error"] = nullptr; }},
      {"pass_no_outputs", [&](json& r) { r["results"][judged]["judged_outputs"] = 0; }},
      {"pass_differing", [&](json& r) { r["results"][judged]["runs_identical"] = false; }},
      {"skipped_with_outputs", [&](json& r) { r["results"][skipped]["output_hash"] = std::string(32, 'a'); }},
      {"device_unnamed", [](json& r) { r["environment"]["device"].erase("name"); }}};
  std::vector<std::string> files;
  for (const auto& [name, plant] : mistakes) {
    json document = good;
    plant(document);
    files.push_back(folder + "/" + name + ".json");
    std::ofstream(files.back()) << document;
  }
  const Ran checked = validate("run", files);
  EXPECT_EQ(checked.code, 1);
  for (const std::string& file : files) EXPECT_THAT(checked.output, HasSubstr(file + ": "));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ulpscope
