// Results tried again in other batches, and a budget that demands the same bits there: from the record of a
// run to the gate, through the real program.
#include "harness/record_batches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "harness/invariance_runs.hpp"
#include "reference/error.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// The findings on a variant of this plan, as they go into a record.
json findings_of(const std::function<std::string(const Problem&)>& plan) {
  Variant v;
  v.name = "planted";
  v.op = "gemm";
  v.launch = [plan](const LaunchArgs& args) {
    const Problem& p = *args.problem;
    const Operands operands{{args.a, DType::f32, p.a}, {args.b, DType::f32, p.b}, {}};
    replay(*parse_plan(plan(p)), *args.contraction, operands, 0, args.contraction->outputs(),
           static_cast<std::uint32_t*>(args.out), 1);
    return LaunchNotes{};
  };
  const Case test = parse_case("gemm 6x96 * 96x10 a=normal(0,1) b=normal(0,1) seed=3");
  std::string reason;
  const auto executor = make_executor(Where::host, reason);
  json all = json::array();
  for (const InvarianceFinding& f :
       try_circumstances(test, make_inputs(test), v, Mode::fp32, *executor, 0, 1,
                         {Circumstance::batch_size, Circumstance::batch_position}))
    all.push_back({{"circumstance", to_string(f.circumstance)}, {"same_bits", f.report.same_bits}});
  return all;
}

json identical(const json& findings) {
  json row = json::object();
  set_invariance(row, findings);
  EXPECT_EQ(row["invariance"], findings);
  return row["batch_identical"];
}

TEST(RecordBatches, BitsThatFollowTheBatchAreNotCalledTheSame) {
  EXPECT_EQ(identical(findings_of([](const Problem&) { return "fp32 | fma"; })), true);
  EXPECT_EQ(identical(findings_of([](const Problem& p) {
              return p.a[0] < 4 ? "fp32 | fma | order k | split 2 seq" : "fp32 | fma";
            })),
            false);
  const json same{{"circumstance", "batch_position"}, {"same_bits", true}},
      other{{"circumstance", "batch_size"}, {"same_bits", false}},
      skipped{{"circumstance", "batch_size"}, {"skipped", "no batch"}},
      elsewhere{{"circumstance", "layout"}, {"same_bits", false}};
  EXPECT_EQ(identical(json::array({other, same})), false);
  EXPECT_EQ(identical(json::array({same, other})), false);
  EXPECT_EQ(identical(json::array({skipped, same, elsewhere})), true);
  EXPECT_EQ(identical(json::array({skipped, elsewhere})), nullptr);
  EXPECT_EQ(identical(json::array()), nullptr);
}

TEST(RecordBatches, WhyThereIsNoOtherBatchIsKeptOnlyWhereNoneWasTried) {
  const json same{{"circumstance", "batch_position"}, {"same_bits", true}},
      none{{"circumstance", "batch_size"}, {"skipped", "one row"}},
      elsewhere{{"circumstance", "layout"}, {"skipped", "no layout"}};
  json row = json::object();
  set_invariance(row, json::array({elsewhere, none}));
  EXPECT_EQ(row["batch_identical"], nullptr);
  EXPECT_EQ(row["batch_not_applicable"], "one row");
  set_invariance(row, json::array({none, same}));
  EXPECT_EQ(row["batch_identical"], true);
  EXPECT_FALSE(row.contains("batch_not_applicable"));
  set_invariance(row, json::array({none}));
  EXPECT_EQ(row["batch_not_applicable"], "one row");
  set_invariance(row, json::array({elsewhere}));
  EXPECT_FALSE(row.contains("batch_not_applicable")) << "nobody tried";
}

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen((command + " 2>&1; echo exit $?").c_str(), "r");
  if (!pipe) return out;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) out.append(buffer.data(), n);
  pclose(pipe);
  return out;
}

TEST(RecordBatches, ABudgetThatDemandsThemCanBeMet) {
  const std::string folder = testing::TempDir() + "ulpscope_batches_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/b.toml") << "[[budget]]\ncase = \"*\"\nmax_abs = \"bound\"\nbits = [\"batch\"]\n"
                                       "date = 2026-11-29\nreason = \"a test\"\nowner = \"harness\"\n";
  const std::string record = folder + "/r.json",
                    gate =
                        std::string(ULPSCOPE_BINARY) + " gate " + record + " --budgets " + folder + "/b.toml",
                    invariance = std::string(ULPSCOPE_BINARY) + " invariance --device cpu --threads 1 ";
  EXPECT_THAT(
      output_of(std::string(ULPSCOPE_BINARY) + " run 'gemm 6x96 * 96x10 a=normal(0,1) seed=3' --threads 1" +
                " --device cpu --variant host_naive --json " + record),
      HasSubstr("exit 0"));
  const Record before = read_record(record);
  std::string said = output_of(gate);
  EXPECT_THAT(said, HasSubstr("ulpscope invariance --record RECORD"));
  EXPECT_THAT(said, HasSubstr("exit 1"));
  EXPECT_THAT(output_of(invariance + "--record " + record),
              HasSubstr("batch_identical added: 1; with batch_not_applicable: 0)\nexit 0"));
  EXPECT_THAT(output_of(gate), HasSubstr("exit 0"));
  // Nothing else of the record changed.
  Record after = read_record(record);
  EXPECT_EQ(after.results.at(0)["batch_identical"], true);
  for (const char* key : {"batch_identical", "invariance"}) after.results[0].erase(key);
  EXPECT_EQ(to_text(after), to_text(before));

  // Bits of another library or device are not this record's.
  after.environment["libraries"]["cudnn"] = "0.1";
  write_record(record, after);
  EXPECT_THAT(output_of(invariance + "--record " + record), HasSubstr("another environment than this one"));
  after.results[0]["executed"] = "recorded";
  write_record(record, after);
  EXPECT_THAT(output_of(invariance + "--record " + record), HasSubstr("holds no result that ran"));
  EXPECT_THAT(output_of(invariance), HasSubstr("--record RECORD"));
  std::filesystem::remove_all(folder);
}

// Cases without a batch say so once they were tried, and then fail no budget; before, they do.
TEST(RecordBatches, ABudgetOverCasesWithoutABatchCanBeMet) {
  const std::string folder = testing::TempDir() + "ulpscope_no_batch_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/b.toml") << "[[budget]]\ncase = \"*\"\nmax_abs = \"bound\"\nbits = [\"batch\"]\n"
                                       "date = 2026-11-29\nreason = \"a test\"\nowner = \"harness\"\n";
  const std::string program = ULPSCOPE_BINARY, record = folder + "/r.json",
                    gate = program + " gate " + record + " --budgets " + folder + "/b.toml",
                    invariance = program + " invariance --device cpu --threads 1 --record " + record;
  EXPECT_THAT(
      output_of(program + " run 'gemm 4x5x7 * 4x7x3 a=normal(0,1)' 'gemm 1x9 * 9x3 a=normal(0,1)'" +
                " 'sum 50 a=normal(0,1)' --threads 1 --device cpu --variant host_naive --json " + record),
      HasSubstr("exit 0"));
  EXPECT_THAT(output_of(gate), HasSubstr("exit 1"));
  EXPECT_THAT(output_of(invariance + " 'sum 50 a=normal(0,1)'"),
              HasSubstr("batch_identical added: 0; with batch_not_applicable: 1)\nexit 0"));
  EXPECT_THAT(output_of(gate), HasSubstr("exit 1")) << "of the other two nobody knows";
  EXPECT_THAT(output_of(invariance),
              HasSubstr("batch_identical added: 1; with batch_not_applicable: 2)\nexit 0"));
  const std::string said = output_of(gate);
  EXPECT_THAT(said, HasSubstr("not_applicable"));
  EXPECT_THAT(said, HasSubstr("the batch is one row"));
  EXPECT_THAT(said, HasSubstr("exit 0"));
  std::filesystem::remove_all(folder);
}

TEST(RecordBatches, NothingThatCanRunIsNeitherAPassNorAnError) {
  const std::string invariance = std::string(ULPSCOPE_BINARY) + " invariance --device cpu --threads 1 ";
  const std::string file = testing::TempDir() + "ulpscope_nothing_runs_" + std::to_string(getpid()) + ".json";
  const std::string said =
      output_of(invariance + "'gemm 4x5 * 5x3 in=fp64' --variant host_naive --json " + file);
  EXPECT_THAT(said, HasSubstr("NOT VERIFIED: no selected variant can run here (host_naive in fp32: host "
                              "variants compute in fp32"));
  EXPECT_THAT(said, HasSubstr("exit 3"));
  EXPECT_EQ(json::parse(std::ifstream(file))["results"], json::array());
  std::filesystem::remove(file);
  EXPECT_THAT(output_of(invariance + "'gemm 4x5 * 5x3' --variant host_naiv"), HasSubstr("exit 2"));
  EXPECT_THAT(output_of(invariance + "'gemm 4x5 * 5x3' --variant host_naive"), HasSubstr("exit 0"));
}

}  // namespace
}  // namespace ulpscope
