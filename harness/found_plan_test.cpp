#include "harness/found_plan.hpp"

#include <gtest/gtest.h>

#include "harness/bound.hpp"
#include "harness/case.hpp"
#include "harness/inputs.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

/// What is found where `plan` ran on the case, all outputs seen.
std::string found(const std::string& text, const std::string& plan, FindOptions options) {
  const Case test = parse_case(text);
  const Contraction c = lower(test.problem);
  const Inputs inputs = make_inputs(test, 1);
  Tensor y = make_tensor(DType::f32, {c.outputs()});
  replay(*parse_plan(plan), c, inputs.operands(), 0, c.outputs(), y.as<std::uint32_t>(), 1);
  options.threads = 2;
  options.seconds = 5;
  return found_plan(c, inputs.operands(), test.in, observe(y.view()), options);
}

bool admitted(Mode mode, const std::string& plan) {
  std::string why;
  return admits(mode, DType::f32, *parse_plan(plan), why);
}

// Small integers are numbers of every format and every order of them is exact: a plan that breaks the mode's
// promise must not be named for them, not even if it was found for another call.
TEST(FoundPlan, DataThatCannotTellAreNoBreachOfAPromise) {
  const std::string integers = "gemm 20x40 * 40x12 in=fp32 out=fp32 a=integers(-4,5) b=integers(-4,5) seed=1";
  for (const Mode mode : {Mode::fp32, Mode::strict, Mode::tf32}) {
    FindOptions options;
    options.mode = mode;
    options.hints = {"bf16 | block 16 frac 25 rz"};
    const std::string plan = found(integers, "bf16 | block 16 frac 25 rz", options);
    ASSERT_FALSE(plan.empty());
    EXPECT_TRUE(admitted(mode, plan)) << to_string(mode) << ": " << plan;
  }
}

TEST(FoundPlan, ABrokenPromiseIsNamed) {
  const std::string normal = "gemm 20x40 * 40x12 in=fp32 out=fp32 a=normal(0,1) b=normal(0,1) seed=1";
  FindOptions options;
  options.mode = Mode::strict;
  const std::string plan = found(normal, "tf32_rna | block 8 frac 25 rz", options);
  EXPECT_TRUE(plan.starts_with("tf32_")) << plan;
  EXPECT_FALSE(admitted(Mode::strict, plan));
}

}  // namespace
}  // namespace ulpscope
