#include "harness/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "reference/error.hpp"
#include "reference/operators.hpp"

namespace ulpscope {
namespace {

TEST(SweepTest, EveryCaseIsAValidProblemOfModestSize) {
  for (const Case& c : sweep_cases(600, 3)) {
    ASSERT_NO_THROW(lower(c.problem)) << c.name << " " << to_string(c.problem);
    const Contraction contraction = lower(c.problem);
    EXPECT_GT(contraction.outputs(), 0) << to_string(c.problem);
    EXPECT_LT(contraction.outputs(), std::int64_t{1} << 23) << to_string(c.problem);
    EXPECT_LT(static_cast<double>(contraction.outputs()) * static_cast<double>(contraction.terms()), 2e10)
        << to_string(c.problem);
  }
}

TEST(SweepTest, AShorterSweepIsThePrefixOfALongerOne) {
  const auto few = sweep_cases(20, 9), many = sweep_cases(200, 9);
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].name, many[i].name);
    EXPECT_EQ(few[i].problem, many[i].problem);
  }
  EXPECT_NE(sweep_cases(20, 10)[0].problem, few[0].problem);
}

TEST(SweepTest, MostShapesAreUnalignedAndEveryOperatorAppears) {
  std::set<std::string> seen;
  std::int64_t unaligned = 0;
  const auto cases = sweep_cases(400, 1);
  for (const Case& c : cases) {
    seen.insert(c.problem.params.op);
    auto aligned_extent = [](std::int64_t n) { return n % 8 == 0; };
    if (!std::all_of(c.problem.a.begin(), c.problem.a.end(), aligned_extent)) ++unaligned;
  }
  EXPECT_GT(unaligned, 200);
  for (const char* op : {"gemm", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
                         "conv2d_backward_input", "conv2d_backward_weight"})
    EXPECT_TRUE(seen.contains(op)) << op;
}

TEST(SweepTest, NonsensicalCountsAreRefused) {
  EXPECT_THROW(sweep_cases(0, 1), Error);
  EXPECT_THROW(sweep_cases(1000000, 1), Error);
}

}  // namespace
}  // namespace ulpscope
