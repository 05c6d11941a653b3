// explain as a command: options that are refused, and what it writes for people and programs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "harness/cli.hpp"
#include "harness/explain/render.hpp"

namespace ulpscope {
namespace {

struct Ran {
  int code = 0;
  std::string out, err;
};

Ran cli(std::vector<std::string> words) {
  words.insert(words.begin(), {"ulpscope", "explain"});
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Ran r;
  r.code = run_cli(static_cast<int>(argv.size()), argv.data());
  r.out = ::testing::internal::GetCapturedStdout();
  r.err = ::testing::internal::GetCapturedStderr();
  return r;
}

const std::string kFile =
    std::string(ULPSCOPE_SOURCE_DIR) + "/reports/recorded/pytorch-2.11-h200/linear_batch.npz:";

std::vector<std::string> linear(const std::string& y, std::vector<std::string> more) {
  std::vector<std::string> words{"--op",     "linear",    "--input",     kFile + "x",
                                 "--weight", kFile + "w", "--candidate", kFile + y};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// One row through a linear layer in batches of 1, 2 ... 1024, recorded on an H200: other bits from other
// plans.
TEST(ExplainCommand, BatchNamesItsPlanAndWhatAnotherMayChange) {
  const struct {
    const char *rows, *plan;
  } seen[] = {{"1", "fp32 | fma | lanes 16 seq | chunks 32 seq"},
              {"2", "fp32 | fma | lanes 16 seq | chunks 16 seq"},
              {"33", "fp32 | fma | lanes 8 every 8 seq"},
              {"1024", "fp32 | fma | lanes 2 every 8 seq"}};
  for (const auto& s : seen) {
    // No time for the search: the batch is what leads to the plan.
    const Ran ran =
        cli(linear(std::string("y_fp32_m") + s.rows, {"--batch", s.rows, "--seconds", "0", "--json", "-"}));
    ASSERT_EQ(ran.code, 0) << ran.err;
    const nlohmann::json j = nlohmann::json::parse(ran.out);
    EXPECT_EQ(j["candidate"]["plan"], s.plan);
    EXPECT_EQ(j["candidate"]["bit_identical"], 1.0);
    EXPECT_EQ(j["batch"]["rows"], std::stoi(s.rows));
    EXPECT_NE(j["summary"].get<std::string>().find(std::string("of a call's ") + s.rows + " rows"),
              std::string::npos);
    EXPECT_GT(j["batch"]["spread_bound"].get<double>(), 2e-7);
  }
  // Two batches against each other: the order is the cause, proved by both plans.
  const Ran ran = cli(linear("y_fp32_m1", {"--reference", kFile + "y_fp32_m2", "--json", "-"}));
  const nlohmann::json j = nlohmann::json::parse(ran.out);
  EXPECT_EQ(j["cause"], "accumulation_order");
  EXPECT_EQ(j["reference"]["plan"], seen[1].plan);
}

TEST(ExplainCommand, BatchIsRefusedWhereItMeansNothing) {
  Ran ran = cli(linear("y_fp32_m1", {"--batch=-3"}));
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("rows were dumped"), std::string::npos) << ran.err;
  std::vector<std::string> words = linear("y_fp32_m1", {"--batch", "4", "--transpose-weight"});
  words[1] = "gemm";
  ran = cli(words);
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("--batch is for --op linear"), std::string::npos) << ran.err;
}

// A plan's bars inside a cell would end it.
TEST(ExplainCommand, MarkdownTablesHaveTheirColumns) {
  const Ran ran = cli(linear("y_fp32_m1024", {"--markdown", "-"}));
  std::stringstream lines(ran.out);
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] != '|') continue;
    int bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    EXPECT_EQ(bars, 7) << line;
    ++rows;
  }
  EXPECT_GT(rows, 10);
  EXPECT_NE(ran.out.find("fp32 \\| "), std::string::npos) << "a plan in a table";
}

}  // namespace
}  // namespace ulpscope
