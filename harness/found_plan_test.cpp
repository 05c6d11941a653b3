#include "harness/found_plan.hpp"

#include <gtest/gtest.h>

#include "harness/bound.hpp"
#include "harness/case.hpp"
#include "harness/inputs.hpp"
#include "harness/judge_capture.hpp"
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

// The device's probe saw TF32 where strict was promised; that integers fit fp32's own plan does not undo it.
TEST(FoundPlan, DoesNotUndoWhatAProbeSaw) {
  Capture capture;
  capture.test = parse_case("gemm 20x40 * 40x12 in=fp32 out=fp32 a=integers(-4,5) b=integers(-4,5) seed=1");
  capture.variant = "somebody_elses";
  capture.mode = Mode::strict;
  capture.executed = "recorded";
  const Contraction c = lower(capture.test.problem);
  const Inputs inputs = make_inputs(capture.test, 1);
  capture.input_hash = inputs.hash;
  Window whole{0, make_tensor(DType::f32, {c.outputs()})};
  replay(*parse_plan("fp32 | fma"), c, inputs.operands(), 0, c.outputs(), whole.bits.as<std::uint32_t>(), 1);
  capture.output_hash = hash_bytes(whole.bits.data.get(), whole.bits.view().bytes(), 1);
  capture.windows.push_back(whole);
  for (const char* seen : {"strict", "tf32"}) {
    capture.effective_mode = seen;
    InputsCache cache;
    const Result r = judge_capture(capture, cache, ReplayChoice::all, 1);
    EXPECT_EQ(r.judgement.verdict, seen == std::string("tf32") ? Verdict::violated : Verdict::identical)
        << r.judgement.reason;
  }
}

}  // namespace
}  // namespace ulpscope
