// bound and drift as commands: what they write, and how they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/cli.hpp"

namespace ulpscope {
namespace {

int cli(std::vector<std::string> words) {
  words.insert(words.begin(), "ulpscope");
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = run_cli(static_cast<int>(argv.size()), argv.data());
  ::testing::internal::GetCapturedStdout();
  ::testing::internal::GetCapturedStderr();
  return code;
}

nlohmann::json written(std::vector<std::string> words) {
  const std::string path = ::testing::TempDir() + "prediction.json";
  std::filesystem::remove(path);
  words.insert(words.end(), {"--json", path});
  EXPECT_EQ(cli(words), 0);
  std::ifstream in(path);
  return nlohmann::json::parse(in);
}

const std::string kCase = "gemm 8x64 * 64x8 a=uniform(0,1) seed=1";

TEST(BoundCommand, WritesBoundExpectationAndWhatPasses) {
  const nlohmann::json j =
      written({"bound", kCase, "--atol", "1e-5", "--rtol", "1e-5", "--seeds", "0", "--observed", "1e-3"});
  EXPECT_EQ(j["schema"], "ulpscope.bound/1");
  const nlohmann::json& c = j["cases"][0];
  EXPECT_EQ(c["outputs"], 64);
  EXPECT_EQ(c["atol"], 1e-5);
  EXPECT_FALSE(c["vacuous"].get<bool>());
  ASSERT_EQ(c["plans"].size(), 5u);
  for (const nlohmann::json& p : c["plans"]) {
    EXPECT_GT(p["bound"].get<double>(), p["judged"][0]["expected_max"].get<double>()) << p;
    EXPECT_EQ(p["observed"], 1e-3);
  }
  EXPECT_LT(c["plans"][0]["judged"][0]["p_fail"].get<double>(), 1e-3);
  EXPECT_GT(c["plans"][1]["judged"][0]["p_fail"].get<double>(), 0.9);
  EXPECT_GE(c["lets_through"][0]["tried"].size(), 6u);
}

TEST(BoundCommand, TakesPlansAndModes) {
  const nlohmann::json j = written({"bound", kCase, "--plan", "fp32 | fma | split 4 seq", "--mode", "bf16",
                                    "--against", "exact", "--seeds", "4"});
  const nlohmann::json& plans = j["cases"][0]["plans"];
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0]["plan"], "fp32 | fma | split 4 seq");
  EXPECT_EQ(plans[0]["judged"].size(), 1u);
  EXPECT_TRUE(plans[0]["p_fail_over_seeds"].is_number());
}

TEST(BoundCommand, VacuousToleranceIsSaid) {
  EXPECT_TRUE(
      written({"bound", kCase, "--atol", "100", "--mode", "fp32", "--seeds", "0"})["cases"][0]["vacuous"]
          .get<bool>());
}

TEST(BoundCommand, RefusesNonsense) {
  EXPECT_EQ(cli({"bound", kCase, "--mode", "tf23"}), 2);
  EXPECT_EQ(cli({"bound", kCase, "--plan", "fp32 | fma | order q"}), 2);
  EXPECT_EQ(cli({"bound", kCase, "--atol", "-1"}), 2);
  EXPECT_EQ(cli({"bound", kCase, "--p-fail", "2"}), 2);
  EXPECT_EQ(cli({"bound", "no_such_case", "--cases", "/nonexistent"}), 2);
  EXPECT_EQ(cli({"bound"}), 2);
}

TEST(DriftCommand, WritesRowsSpreadsAndTheSentence) {
  const nlohmann::json j =
      written({"drift", kCase, "--observed", "1e-3", "--plan", "fp32 | fma | split 8 tree"});
  EXPECT_EQ(j["schema"], "ulpscope.drift/1");
  const nlohmann::json& c = j["cases"][0];
  EXPECT_GE(c["rows"].size(), 21u);
  EXPECT_EQ(c["rows"].back()["arithmetic"], "given");
  EXPECT_FALSE(c["order_can_account"].get<bool>());
  EXPECT_NE(c["summary"].get<std::string>().find("Order cannot account for the observed mismatch"),
            std::string::npos);
  EXPECT_TRUE(written({"drift", kCase, "--observed", "1e-7"})["cases"][0]["order_can_account"].get<bool>());
}

}  // namespace
}  // namespace ulpscope
