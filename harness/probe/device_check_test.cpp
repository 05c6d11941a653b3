// A device whose arithmetic is not the table's: nothing on it is called explained.
#include "harness/probe/device_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/judge_capture.hpp"

namespace ulpscope {
namespace {

using ::testing::HasSubstr;

TEST(DeviceCheck, ExplainedBecomesWhatTheEvidenceShowsWithoutTheReplay) {
  Evidence e;
  e.outputs = 100;
  e.measured = Measurement{};
  e.measured->outputs = e.measured->finite_pairs = 100;
  e.measured->equal_bits = 90;
  e.measured->headroom = 0.5;
  e.replay = {"tf32_rna | block 8 frac 25 rz", 100, 100, true, ""};
  EXPECT_EQ(judge_on_device(e, "").verdict, Verdict::explained);
  const Judgement without = judge_on_device(e, "tf32 on Hopper: F is 24, not 25");
  EXPECT_EQ(without.verdict, Verdict::bounded);
  EXPECT_THAT(without.reason, HasSubstr("F is 24, not 25"));
  e.measured->unbounded = 100;
  EXPECT_EQ(judge_on_device(e, "x").verdict, Verdict::vacuous);
  e.measured->equal_bits = 100;
  EXPECT_EQ(judge_on_device(e, "x").verdict, Verdict::identical);  // by the exact result, not by a plan
}

TEST(DeviceCheck, OnlyADisagreementCounts) {
  EXPECT_EQ(disagreement_in({{"arithmetic_agrees", true}}), "");
  EXPECT_EQ(disagreement_in({{"arithmetic_agrees", nullptr}, {"arithmetic_reason", "no row"}}), "");
  EXPECT_EQ(disagreement_in({{"device", "an older record"}}), "");
  EXPECT_EQ(disagreement_in(nullptr), "");
  EXPECT_EQ(disagreement_in({{"arithmetic_agrees", false}, {"arithmetic_reason", "L is 4"}}), "L is 4");
  EXPECT_NE(disagreement_in({{"arithmetic_agrees", false}}), "");
}

// A recorded capture that is explained; the same one, had its device disagreed.
TEST(DeviceCheck, CapturesOfADisagreeingDeviceAreNotExplained) {
  const auto files = capture_files(ULPSCOPE_SOURCE_DIR "/reports/recorded/sweep-h200");
  ASSERT_FALSE(files.empty());
  std::string smallest = files.front();
  for (const std::string& f : files)
    if (std::filesystem::file_size(f) < std::filesystem::file_size(smallest)) smallest = f;
  Capture capture = read_capture(smallest);
  InputsCache cache;
  EXPECT_EQ(judge_capture(capture, cache, ReplayChoice::all, 2).judgement.verdict, Verdict::explained);
  capture.environment["arithmetic_agrees"] = false;
  capture.environment["arithmetic_reason"] = "tf32 on Hopper: L is 4, not 8";
  const Result r = judge_capture(capture, cache, ReplayChoice::all, 2);
  EXPECT_EQ(r.judgement.verdict, Verdict::bounded);
  EXPECT_THAT(r.judgement.reason, HasSubstr("L is 4, not 8"));
}

TEST(DeviceCheck, WithoutADeviceNothingIsClaimed) {
  nlohmann::json environment = nlohmann::json::object();
  note_device_arithmetic(environment);
  EXPECT_TRUE(environment.contains("arithmetic_agrees"));
  EXPECT_EQ(disagreement_in(environment), "");
}

}  // namespace
}  // namespace ulpscope
