// Calls of cuBLAS and cuDNN on problems that nobody chose (`ulpscope run --sweep` on an H200): from a few
// kept outputs the search finds the plan, and its replay gives the hash of the whole output.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace ulpscope
