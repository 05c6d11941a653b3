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

// What the README says of the record at full size: five implementations, the same bits in every output.
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
  for (const char* same : {"cudnn fp32", "cudnn strict", "im2col_cublas fp32", "host_naive fp32"})
    EXPECT_EQ(hash.at(same), plain) << same;
  EXPECT_NE(hash.at("cudnn tf32"), plain);
}

}  // namespace
}  // namespace ulpscope
