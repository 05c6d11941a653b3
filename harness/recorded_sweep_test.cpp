// Calls of cuBLAS and cuDNN on problems that nobody chose (`ulpscope run --sweep` on an H200): from a few
// kept outputs the search finds the plan, and its replay gives the hash of the whole output.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "harness/judge_capture.hpp"

namespace ulpscope {
namespace {

TEST(RecordedSweep, EveryCallIsReproducedBitForBitOnItsWholeOutput) {
  const Record record = judge_captures({ULPSCOPE_SOURCE_DIR "/reports/recorded/sweep-h200"},
                                       ReplayChoice::all, 2, {"test"}, {});
  ASSERT_GE(record.results.size(), 8u);
  for (const nlohmann::json& row : record.results) {
    EXPECT_EQ(row.at("verdict"), "explained")
        << row.at("case") << " " << row.at("variant") << " " << row.at("mode");
    EXPECT_EQ(row.at("whole_output_replayed"), true) << row.at("case");
    EXPECT_EQ(row.at("executed"), "recorded");
  }
}

// What the README says of all calls of that sweep: 1,075 captures judged, each against the hash of its
// output.
TEST(RecordedSweep, EveryDeterministicCallIsReproduced) {
  const Record record = read_record(ULPSCOPE_SOURCE_DIR "/reports/recorded/sweep-h200/calls.json");
  EXPECT_EQ(record.results.size(), 1075u);
  int reproduced = 0, counted = 0;
  for (const nlohmann::json& row : record.results) {
    const std::string engine = row.at("engine");
    if (row.at("runs_differing") > 0 || engine.find("dgrad_engine") != std::string::npos ||
        engine.find("dgrad_float_engine") != std::string::npos)
      continue;  // atomics
    ++counted;
    const nlohmann::json& whole = row.at("whole_output_replayed");
    reproduced += whole.is_null() ? row.at("bit_identical") == 1.0 : whole.get<bool>();
  }
  EXPECT_GE(counted, 1000);
  EXPECT_EQ(reproduced, counted);
}

// What the README says of the records at full size: every deterministic implementation, the libraries' too,
// is replayed in every output, and the plain kernel is cuDNN in fp32.
TEST(RecordedFullSize, EveryOutputIsReplayed) {
  for (const char* name :
       {"conv_transpose1d", "conv_transpose1d_normal", "conv2d_pointwise", "conv2d_pointwise_normal"}) {
    const Record record =
        read_record(std::string(ULPSCOPE_SOURCE_DIR "/reports/recorded/h200-full/") + name + ".json");
    int replayed = 0;
    for (const nlohmann::json& row : record.results) {
      if (row.at("verdict") == "skipped") continue;
      const bool atomics = row.at("variant") == "scatter_atomics";
      EXPECT_EQ(row.at("verdict"), atomics ? "nondeterministic"
                                   : row.at("error").at("equal_bits") == row.at("outputs") ? "identical"
                                                                                           : "explained")
          << name << " " << row.at("variant") << " " << row.at("mode");
      if (atomics) {
        EXPECT_EQ(row.at("excused"), true);
        continue;
      }
      EXPECT_EQ(row.at("replayed_outputs"), row.at("outputs"));
      EXPECT_EQ(row.at("bit_identical"), 1.0);
      ++replayed;
    }
    EXPECT_GE(replayed, 20) << name;
  }
}

TEST(RecordedFullSize, ThePlainKernelIsCudnnInFp32) {
  const Record record = read_record(ULPSCOPE_SOURCE_DIR "/reports/recorded/h200-full/conv_transpose1d.json");
  std::map<std::string, std::string> hash;
  for (const nlohmann::json& row : record.results) {
    if (row.at("verdict") == "skipped") continue;
    hash[row.at("variant").get<std::string>() + " " + row.at("mode").get<std::string>()] =
        row.at("output_hash");
    if (row.at("variant") == "gather_c_k") {
      EXPECT_EQ(row.at("outputs"), 268460032);
    }
  }
  const std::string plain = hash.at("gather_c_k fp32");
  for (const char* same : {"cudnn fp32", "cudnn strict", "im2col_cublas fp32", "register_64x128x8 fp32"})
    EXPECT_EQ(hash.at(same), plain) << same;
  EXPECT_NE(hash.at("cudnn tf32"), plain);
}

// Captures of that run, kept in windows, judged again: inputs of full size, no device.
TEST(RecordedFullSize, CapturesAreJudgedAgain) {
  const std::string folder =
      ULPSCOPE_SOURCE_DIR "/reports/recorded/seeds-h200/conv_transpose1d_full_uniform--";
  const Record record =
      judge_captures({folder + "cudnn--tf32--e5a51b2a.npz", folder + "gather_c_k--fp32--ba5e9164.npz"},
                     ReplayChoice::all, 2, {"test"}, {});
  ASSERT_EQ(record.results.size(), 2u);
  for (const nlohmann::json& row : record.results) {
    EXPECT_EQ(row.at("verdict"), "explained") << row.at("variant");
    EXPECT_EQ(row.at("executed"), "recorded");
  }
  std::map<std::string, std::string> plan;
  for (const nlohmann::json& row : record.results) plan[row.at("variant")] = row.at("plan");
  EXPECT_EQ(plan.at("cudnn"), "tf32_rna | block 8 frac 25 rz | order c/16 kw c");
  EXPECT_EQ(plan.at("gather_c_k"), "fp32 | fma | order c kw");
}

}  // namespace
}  // namespace ulpscope
