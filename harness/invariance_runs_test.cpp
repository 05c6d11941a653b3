// Circumstances tried on planted variants: one that never changes, one whose order follows the batch, one
// that is wrong at the last place.
#include "harness/invariance_runs.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/operators.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

Operands operands_of(const LaunchArgs& args) {
  const Problem& p = *args.problem;
  return {{args.a, DType::f32, p.a}, {args.b, DType::f32, p.b}, {}};
}

Variant planted(std::function<std::string(const Problem&)> plan,
                std::function<void(const LaunchArgs&)> after = {}) {
  Variant v;
  v.name = "planted";
  v.op = "gemm";
  v.plan = [](const Problem&, Mode) { return "fp32 | fma"; };
  v.launch = [plan, after](const LaunchArgs& args) {
    replay(*parse_plan(plan(*args.problem)), *args.contraction, operands_of(args), 0,
           args.contraction->outputs(), static_cast<std::uint32_t*>(args.out), 1);
    if (after) after(args);
    return LaunchNotes{};
  };
  return v;
}

std::vector<InvarianceFinding> tried(const Variant& v, double seconds = 0) {
  const Case test = parse_case("gemm 6x96 * 96x10 a=normal(0,1) b=normal(0,1) seed=3");
  const Inputs inputs = make_inputs(test);
  std::string reason;
  const auto executor = make_executor(Where::host, reason);
  return try_circumstances(test, inputs, v, Mode::fp32, *executor, seconds, 2);
}

TEST(InvarianceRuns, OneOrderForAllGivesTheSameBits) {
  const auto found = tried(planted([](const Problem&) { return "fp32 | fma"; }));
  ASSERT_EQ(found.size(), 4u);
  for (const InvarianceFinding& f : found) {
    EXPECT_EQ(f.skipped, "");
    EXPECT_TRUE(f.report.same_bits) << f.report.sentence;
  }
  EXPECT_EQ(found[0].report.outputs, 60);
  EXPECT_EQ(found[1].report.runs, 4) << "batches of 1, 2, 3 and 6";
  EXPECT_EQ(found[1].report.outputs, 10);
  EXPECT_EQ(found[3].circumstance, Circumstance::zero_padding);
  EXPECT_EQ(found[3].report.outputs, 60);
}

// A split that follows the number of rows: other bits, both plans named, within what order can do.
TEST(InvarianceRuns, SplitByBatchIsNamed) {
  const auto found = tried(planted([](const Problem& p) {
                             return p.a[0] < 4 ? "fp32 | fma | order k | split 2 seq" : "fp32 | fma";
                           }),
                           10);
  EXPECT_TRUE(found[0].report.same_bits);
  const InvarianceReport& r = found[1].report;
  EXPECT_FALSE(r.same_bits);
  EXPECT_TRUE(r.plans_differ) << r.sentence;
  EXPECT_EQ(r.beyond_order, 0);
  EXPECT_TRUE(found[2].report.same_bits) << "one call has one plan";
}

// Wrong at the last row: position tells, and no order does that.
TEST(InvarianceRuns, WrongPlaceInTheBatchIsBeyondOrder) {
  const auto found = tried(planted([](const Problem&) { return "fp32 | fma"; },
                                   [](const LaunchArgs& args) {
                                     auto* out = static_cast<float*>(args.out);
                                     out[args.contraction->outputs() - 1] += 0.5f;
                                   }));
  const InvarianceReport& r = found[2].report;
  EXPECT_EQ(r.circumstance, Circumstance::batch_position);
  EXPECT_EQ(r.differing, 1);
  EXPECT_EQ(r.beyond_order, 1);
}

// Convolutions of the registry on the host: images are independent, appended channels of zeros change
// nothing.
TEST(InvarianceRuns, HostConvolutionsAreInvariant) {
  const Case test = parse_case("conv2d 3x4x9x9 * 5x4x3x3 p1 a=uniform(-1,1) seed=3");
  const Inputs inputs = make_inputs(test);
  std::string reason;
  const auto executor = make_executor(Where::host, reason);
  for (const Variant* v : variants_of("conv2d")) {
    if (v->where != Where::host || v->name != "host_naive") continue;
    for (const InvarianceFinding& f : try_circumstances(test, inputs, *v, Mode::fp32, *executor, 0, 2)) {
      EXPECT_EQ(f.skipped, "");
      EXPECT_TRUE(f.report.same_bits) << f.report.sentence;
    }
    return;
  }
  FAIL() << "no variant host_naive";
}

}  // namespace
}  // namespace ulpscope
