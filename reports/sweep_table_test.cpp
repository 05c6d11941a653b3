// The table of a sweep, from a record with a call of every kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/testing.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json row(const std::string& mode, const std::string& engine) {
  return {{"case_text", "gemm 5x7 * 7x3"},
          {"op", "gemm"},
          {"variant", "cublas"},
          {"mode", mode},
          {"verdict", "explained"},
          {"engine", engine},
          {"notes", json::array()},
          {"runs_differing", 0},
          {"error", json::object()},
          {"bit_identical", 1.0},
          {"judged_outputs", 15},
          {"replayed_outputs", 15},
          {"whole_output_replayed", nullptr}};
}

std::string table_of(const std::string& text) {
  const std::string path = testing_reports::fresh_folder("sweep_table") + "/record.json";
  std::ofstream(path) << text;
  const auto ran = testing_reports::ran(
      testing_reports::quoted({"python3", ULPSCOPE_SOURCE_DIR "/reports/sweep_table.py", path}));
  return std::to_string(ran.code) + "\n" + ran.output;
}

TEST(SweepTable, CountsByModeAndKernelAndListsApart) {
  json rows = json::array();
  rows.push_back(row("fp32", "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3"));
  rows.push_back(
      row("tf32", "cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_32x3_nn_align1>(Params)"));
  rows.push_back(
      row("tf32", "cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4>(Params)"));
  rows.back()["bit_identical"] = 0.8;
  rows.push_back(
      row("tf32", "cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4>(Params)"));
  rows.back()["whole_output_replayed"] = false;  // what was kept agreed, the rest did not
  rows.push_back(row("bf16", "gemm_x + splitKreduce_kernel<32>"));
  rows.back()["whole_output_replayed"] = true;
  rows.push_back(row("fp32", "anything"));
  rows.back()["notes"] = {"WINOGRAD"};
  rows.push_back(row("fp32", "cudnn::detail::dgrad_engine<float>"));
  rows.back()["runs_differing"] = 3;
  rows.push_back(row("fp32", ""));
  rows.back()["verdict"] = "skipped";
  const std::string out = table_of(json{{"schema", "ulpscope.run/1"}, {"results", rows}}.dump());
  EXPECT_THAT(out, HasSubstr("0\n3 of 5 calls reproduced bit for bit (60.0 %), on 1 problems; 2 calls"));
  EXPECT_THAT(out, HasSubstr("| fp32 | 1 | 1 | 100.0 % |"));
  EXPECT_THAT(out, HasSubstr("| tf32 | 3 | 1 | 33.3 % |"));
  EXPECT_THAT(out, HasSubstr("| cutlass_80_tensorop_s1688gemm | tf32 | 3 | 1 | 33.3 % |"));
  EXPECT_THAT(out, HasSubstr("| gemm_x + split | bf16 | 1 | 1 | 100.0 % |"));
  EXPECT_THAT(out, HasSubstr("| Winograd | fp32 | 1 |"));
  EXPECT_THAT(out, HasSubstr("| atomics | fp32 | 1 |"));
  EXPECT_THAT(out, HasSubstr("1 calls skipped."));
  EXPECT_THAT(out, HasSubstr("| gemm 5x7 * 7x3 | cublas | tf32 | 80.00 % |"));
}

TEST(SweepTable, RefusesWhatIsNoRecord) {
  EXPECT_THAT(table_of("{"), AllOf(HasSubstr("sweep_table.py: "), Not(HasSubstr("Traceback"))));
  EXPECT_THAT(table_of("[]"), HasSubstr("no record of schema"));
  EXPECT_THAT(table_of(R"({"schema": "ulpscope.run/1", "results": []})"), HasSubstr("no call"));
}

}  // namespace
}  // namespace ulpscope
