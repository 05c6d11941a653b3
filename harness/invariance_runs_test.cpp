// Circumstances tried on planted variants: one that never changes, one whose order follows the batch, one
// that is wrong at the last place, some whose bits follow the launch or the layout.
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
  ASSERT_EQ(found.size(), 6u);
  for (const InvarianceFinding& f : found) {
    // What a launch does not heed was not varied: no pass.
    EXPECT_EQ(f.skipped, f.circumstance == Circumstance::launch_shape
                             ? "the variant has one launch shape for a case"
                             : "");
    EXPECT_TRUE(f.report.same_bits) << f.report.sentence;
    EXPECT_EQ(f.report.runs, f.circumstance == Circumstance::layout         ? 4
                             : f.circumstance == Circumstance::batch_size   ? 4
                             : f.circumstance == Circumstance::launch_shape ? 0
                                                                            : 2);
  }
  EXPECT_EQ(found[0].report.outputs, 60);
  EXPECT_EQ(found[1].report.runs, 4) << "batches of 1, 2, 3 and 6";
  EXPECT_EQ(found[1].report.outputs, 10);
  EXPECT_EQ(found[3].circumstance, Circumstance::layout);
  EXPECT_EQ(found[3].report.outputs, 60);
  EXPECT_EQ(found[4].circumstance, Circumstance::zero_padding);
  EXPECT_EQ(found[4].report.outputs, 60);
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

// A variant that heeds the launch's shape, and says so.
Variant shaped(const std::function<std::string(const LaunchShape&)>& plan) {
  Variant v = planted([](const Problem&) { return "fp32 | fma"; });
  v.launch = [plan](const LaunchArgs& args) {
    replay(*parse_plan(plan(args.shape)), *args.contraction, operands_of(args), 0,
           args.contraction->outputs(), static_cast<std::uint32_t*>(args.out), 1);
    LaunchNotes notes;
    notes.shape = "block " + std::to_string(args.shape.block);
    return notes;
  };
  return v;
}

InvarianceFinding only(const Variant& v, Circumstance circumstance, const std::string& text,
                       double seconds = 0) {
  const Case test = parse_case(text);
  const Inputs inputs = make_inputs(test);
  std::string reason;
  const auto executor = make_executor(Where::host, reason);
  auto found = try_circumstances(test, inputs, v, Mode::fp32, *executor, seconds, 2, {circumstance});
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at(0).circumstance, circumstance);
  return found.at(0);
}

const std::string kGemm = "gemm 6x96 * 96x10 a=normal(0,1) b=normal(0,1) seed=3";

// Bits that follow the launch shape, though one plan is declared: found, both plans named, within order.
TEST(InvarianceRuns, OrderThatFollowsTheLaunchShapeIsFound) {
  const Variant v = shaped([](const LaunchShape& s) {
    return s.block == 5 ? "fp32 | fma | order k | split 2 seq" : "fp32 | fma";
  });
  const InvarianceFinding f = only(v, Circumstance::launch_shape, kGemm, 10);
  EXPECT_EQ(f.report.runs, 3) << "its own, rows of 5, rows of 64; threads change nothing here";
  EXPECT_FALSE(f.report.same_bits);
  EXPECT_TRUE(f.promised);
  EXPECT_TRUE(f.report.plans_differ) << f.report.sentence;
  EXPECT_EQ(f.report.beyond_order, 0);
  EXPECT_NE(f.report.sentence.find("promises the same bits"), std::string::npos) << f.report.sentence;
  const InvarianceFinding steady =
      only(shaped([](const LaunchShape&) { return "fp32 | fma"; }), Circumstance::launch_shape, kGemm);
  EXPECT_TRUE(steady.report.same_bits);
  EXPECT_EQ(steady.report.runs, 3);
}

// Operands rounded in one launch shape only: more than order can do, and said so.
TEST(InvarianceRuns, ArithmeticThatFollowsTheLaunchShapeIsBeyondOrder) {
  const InvarianceFinding f =
      only(shaped([](const LaunchShape& s) { return s.block == 64 ? "bf16 | fma" : "fp32 | fma"; }),
           Circumstance::launch_shape, kGemm);
  EXPECT_GT(f.report.beyond_order, 0);
  EXPECT_NE(f.report.sentence.find("race"), std::string::npos) << f.report.sentence;
}

// Plans may be declared by layout: then nothing is promised, and the difference is order's.
TEST(InvarianceRuns, OrderThatFollowsTheLayoutIsFound) {
  auto plan = [](const Problem& p) {
    return p.params.transpose_b ? "fp32 | fma | order k reversed" : "fp32 | fma";
  };
  Variant v = planted(plan);
  InvarianceFinding f = only(v, Circumstance::layout, kGemm);
  EXPECT_FALSE(f.report.same_bits);
  EXPECT_TRUE(f.promised) << "it declares one chain for all";
  EXPECT_EQ(f.report.beyond_order, 0);
  v.plan = [plan](const Problem& p, Mode) { return std::string(plan(p)); };
  f = only(v, Circumstance::layout, kGemm);
  EXPECT_FALSE(f.report.same_bits);
  EXPECT_FALSE(f.promised);
}

// A kernel that reads NHWC wrongly is no rounding; one that cannot read it is not tried.
TEST(InvarianceRuns, ChannelsLastIsReadOrNotTried) {
  const std::string text = "conv2d 2x4x5x6 * 3x4x3x3 p1 a=uniform(-1,1) seed=3";
  Variant v = planted([](const Problem&) { return "fp32 | fma"; });
  EXPECT_NE(only(v, Circumstance::layout, text).skipped.find("NCHW"), std::string::npos);
  v.channels_last = [](const Problem&, DType, DType, Mode) { return std::string(); };
  EXPECT_TRUE(only(v, Circumstance::layout, text).report.same_bits);
  v.launch = [](const LaunchArgs& args) {
    const Contraction first = lower(*args.problem);  // whatever the layout
    replay(*parse_plan("fp32 | fma"), first, operands_of(args), 0, first.outputs(),
           static_cast<std::uint32_t*>(args.out), 1);
    return LaunchNotes{};
  };
  EXPECT_GT(only(v, Circumstance::layout, text).report.beyond_order, 0);
  v.channels_last = [](const Problem&, DType, DType, Mode) { return std::string("only on Tuesdays"); };
  EXPECT_EQ(only(v, Circumstance::layout, text).skipped, "only on Tuesdays");
  EXPECT_NE(only(v, Circumstance::layout, "conv2d 2x1x5x6 * 1x1x3x3").skipped, "");
}

TEST(InvarianceRuns, LinearWeightsStoredTheOtherWayAreAGemm) {
  for (const Variant* v : variants_of("linear"))
    if (v->name == "host_blocked") {
      const InvarianceFinding f = only(*v, Circumstance::layout, "linear 2x3x70 * 5x70 bias a=normal(0,1)");
      EXPECT_EQ(f.report.runs, 4) << f.skipped;
      EXPECT_TRUE(f.report.same_bits) << f.report.sentence;
    }
  Variant alone = planted([](const Problem&) { return "fp32 | fma"; });
  EXPECT_NE(only(alone, Circumstance::layout, "linear 3x7 * 5x7").skipped, "");
}

// Variants of the registry on the host, whatever is varied. Eigen declares no order, and keeps none.
TEST(InvarianceRuns, HostVariantsAreInvariant) {
  const char* cases[] = {"conv2d 3x4x9x9 * 5x4x3x3 p1 a=uniform(-1,1) seed=3",
                         "conv_transpose1d 2x4x90 * 4x3x5 d3 a=uniform(-1,1) seed=4"};
  int tried = 0;
  for (const char* text : cases) {
    const Case test = parse_case(text);
    const Inputs inputs = make_inputs(test);
    std::string reason;
    const auto executor = make_executor(Where::host, reason);
    for (const Variant* v : variants_of(test.problem.params.op)) {
      if (v->where != Where::host || !v->name.starts_with("host_") || v->name == "host_eigen") continue;
      ++tried;
      for (const InvarianceFinding& f : try_circumstances(test, inputs, *v, Mode::fp32, *executor, 0, 2)) {
        // Pairwise: a longer sum is another tree.
        if (v->name == "host_pairwise" && f.circumstance == Circumstance::zero_padding) continue;
        EXPECT_EQ(f.skipped, "") << v->name;
        EXPECT_TRUE(f.report.same_bits) << v->name << ": " << f.report.sentence;
        if (f.circumstance == Circumstance::launch_shape) {
          EXPECT_EQ(f.report.runs, 5) << v->name;
        }
      }
    }
  }
  EXPECT_EQ(tried, 6);
}

}  // namespace
}  // namespace ulpscope
