// The example workflows: their commands, run on a few small cases as the runners would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/io/atomic_file.hpp"
#include "reports/testing.hpp"

namespace ulpscope {
namespace {

TEST(Examples, WorkflowsAreCompleteAndTheirCommandsRun) {
  const std::string folder = testing_reports::fresh_folder("examples");
  std::string cases = "[defaults]\na = \"normal(0,1)\"\nb = \"normal(0,1)\"\n";
  for (int i = 1; i <= 5; ++i)
    cases += "[[case]]\nname = \"c" + std::to_string(i) + "\"\nproblem = \"gemm 7x" + std::to_string(20 + i) +
             " * " + std::to_string(20 + i) + "x5\"\n";
  write_text(folder + "/cases/tiny.toml", cases);
  write_text(folder + "/cases/suites/tiny.toml",
             "cases = [\"tiny\"]\ndevice = \"cpu\"\ndrift = [\"tiny/c1\"]\n");
  write_text(folder + "/cases/budgets/tiny.toml",
             "[[budget]]\ncase = \"tiny/*\"\nmax_abs = \"bound\"\ndate = 2026-11-29\nreason = \"a test\"\n"
             "owner = \"reports\"\n");
  const auto r = testing_reports::ran(
      "cd " + testing_reports::quoted({folder}) + " && python3 " +
      testing_reports::quoted({ULPSCOPE_SOURCE_DIR "/reports/examples/check.py", ULPSCOPE_BINARY}));
  EXPECT_EQ(r.code, 0) << r.output;
}

}  // namespace
}  // namespace ulpscope
