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
  const Shape bias = p.params.bias ? bias_shape(p) : Shape{};
  return {{args.a, DType::f32, p.a}, {args.b, DType::f32, p.b}, {args.bias, DType::f32, bias}};
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
    EXPECT_EQ(f.report.runs, f.circumstance == Circumstance::zero_padding   ? 3
                             : f.circumstance == Circumstance::layout       ? 4
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

// Every layout of a gemm and a linear layer, and some convolutions, each with a batch; {} is how many terms.
const std::string kLayouts[] = {"gemm 6x{} * {}x10",
                                "gemm {}x6 * {}x10 tA",
                                "gemm 6x{} * 10x{} tB",
                                "gemm {}x6 * 10x{} tA tB",
                                "gemm 4x5x{} * 4x{}x3",
                                "gemm 4x5x{} * {}x3",
                                "gemm 5x{} * 4x{}x3",
                                "gemm 4x{}x5 * 4x3x{} tA tB",
                                "gemm 1x2x3x5x{} * 1x2x3x{}x3",
                                "gemm 1x{}x6 * 1x{}x3 tA bias",
                                "linear 6x{} * 5x{} bias",
                                "linear 1x6x{} * 5x{}",
                                "linear 2x3x{} * 5x{}",
                                "conv1d 4x{}x5 * 3x{}x1",
                                "conv2d 2x{}x3x3 * 3x{}x2x2 p1 bias",
                                "conv_transpose1d 2x{}x5 * {}x3x2 s2"};

std::string with(std::string text, std::int64_t terms) {
  for (std::size_t at; (at = text.find("{}")) != std::string::npos;)
    text.replace(at, 2, std::to_string(terms));
  return text + " a=normal(0,1) b=normal(0,1) seed=3";
}

// Sums over fewer of their outermost terms, the last ones left out.
Variant leaves_out(std::function<std::int64_t(std::int64_t)> kept) {
  Variant v = planted([](const Problem&) { return "fp32 | fma"; });
  v.launch = [kept](const LaunchArgs& args) {
    Contraction c = *args.contraction;
    c.red[0].size = kept(c.red[0].size);
    replay(*parse_plan("fp32 | fma"), c, operands_of(args), 0, c.outputs(),
           static_cast<std::uint32_t*>(args.out), 1);
    return LaunchNotes{};
  };
  return v;
}

const auto kLastTile = [](std::int64_t k) { return k - 16; };

TEST(InvarianceRuns, ALostLastTileIsFoundInEveryLayout) {
  const Variant whole = leaves_out([](std::int64_t k) { return k; }), last = leaves_out(kLastTile),
                remainder = leaves_out([](std::int64_t k) { return k / 16 * 16; });
  for (const std::string& layout : kLayouts) {
    InvarianceFinding f = only(whole, Circumstance::zero_padding, with(layout, 100));
    EXPECT_EQ(f.skipped, "") << layout;
    EXPECT_TRUE(f.report.same_bits) << layout << ": " << f.report.sentence;
    f = only(last, Circumstance::zero_padding, with(layout, 96));
    EXPECT_GT(f.report.beyond_order, 0) << layout << f.skipped;
    // 8 more leave the same four out, and 64 more do not.
    if (layout.starts_with("conv")) continue;
    EXPECT_GT(only(remainder, Circumstance::zero_padding, with(layout, 100)).report.beyond_order, 0)
        << layout;
  }
}

TEST(InvarianceRuns, BitsThatFollowTheBatchAreFoundInEveryLayout) {
  const Variant steady = leaves_out([](std::int64_t k) { return k; });
  for (const std::string& layout : kLayouts) {
    const std::string text = with(layout, 96);
    const std::int64_t outputs = lower(parse_case(text).problem).outputs();
    Variant split = steady;
    split.launch = [outputs](const LaunchArgs& args) {
      const bool small = args.contraction->outputs() < outputs;
      replay(*parse_plan(small ? "fp32 | fma | order reversed" : "fp32 | fma"), *args.contraction,
             operands_of(args), 0, args.contraction->outputs(), static_cast<std::uint32_t*>(args.out), 1);
      return LaunchNotes{};
    };
    InvarianceFinding f = only(split, Circumstance::batch_size, text);
    EXPECT_EQ(f.skipped, "") << layout;
    EXPECT_FALSE(f.report.same_bits) << layout;
    EXPECT_TRUE(f.promised) << layout;
    EXPECT_EQ(f.report.beyond_order, 0) << layout << ": " << f.report.sentence;
    f = only(steady, Circumstance::batch_size, text);
    EXPECT_TRUE(f.report.same_bits) << layout << ": " << f.report.sentence;

    Variant wrong = steady;  // at the last item
    wrong.launch = [steady](const LaunchArgs& args) {
      steady.launch(args);
      static_cast<float*>(args.out)[args.contraction->outputs() - 1] += 0.5f;
      return LaunchNotes{};
    };
    f = only(wrong, Circumstance::batch_position, text);
    EXPECT_EQ(f.report.differing, 1) << layout << f.skipped;
    EXPECT_EQ(f.report.beyond_order, 1) << layout;
    f = only(steady, Circumstance::batch_position, text);
    EXPECT_TRUE(f.report.same_bits) << layout << ": " << f.report.sentence;
  }
}

// Outputs of one item of a batch, which is its outermost axis longer than 1.
TEST(InvarianceRuns, ItemsAreEntriesOfABatchOrRows) {
  const std::pair<const char*, std::int64_t> cases[] = {{"gemm 6x7 * 7x3", 3},
                                                        {"gemm 7x6 * 7x3 tA", 3},
                                                        {"gemm 4x5x7 * 4x7x3", 15},
                                                        {"gemm 4x5x7 * 7x3", 15},
                                                        {"gemm 1x4x5x7 * 1x4x3x7 tB", 15},
                                                        {"gemm 2x4x5x7 * 2x4x7x3", 60},
                                                        {"gemm 1x5x7 * 1x7x3", 3},
                                                        {"gemm 1x7x5 * 1x7x3 tA", 3},
                                                        {"gemm 5x7 * 4x7x3", 15},
                                                        {"linear 6x7 * 3x7", 3},
                                                        {"linear 2x6x7 * 3x7", 18},
                                                        {"linear 1x6x7 * 3x7", 3},
                                                        {"conv1d 2x4x9 * 3x4x2", 24},
                                                        {"gemm 5x7 * 1x7x3", 3}};
  const Variant steady = leaves_out([](std::int64_t k) { return k; });
  for (const auto& [text, outputs] : cases) {
    EXPECT_EQ(only(steady, Circumstance::batch_size, text).report.outputs, outputs) << text;
    EXPECT_EQ(only(steady, Circumstance::batch_position, text).report.outputs, outputs) << text;
  }
}

// Operators whose sums have other ends: all that is possible is tried, and what is not says why.
TEST(InvarianceRuns, EveryOperatorIsTriedOrSaysWhyNot) {
  struct Expected {
    const char* text;
    const char* no_batch;  // the reason
    const char* appended;  // a run's label, or the reason
  };
  const Expected cases[] = {
      {"gemm 1x32 * 32x4", "the batch is one row", "64 zeros appended"},
      {"gemm 32x1 * 32x4 tA", "the batch is one row", "64 zeros appended"},
      {"gemm 1x1x32 * 1x32x4", "the batch is one row", "64 zeros appended"},
      {"linear 32 * 4x32", "the batch is one row", "64 zeros appended"},
      {"linear 1x32 * 4x32", "the batch is one row", "64 zeros appended"},
      {"conv1d 1x32x5 * 3x32x2", "the batch is one image", "8 channels of zeros appended"},
      {"conv2d 2x64x5x5 * 6x32x2x2 g2", "", "8 channels of zeros in every group appended"},
      {"conv2d 2x6x5x5 * 6x1x2x2 g6", "", "1 channel of zeros in every group appended"},
      {"conv_transpose2d 2x64x3x3 * 64x3x2x2 g2 bias", "", "8 channels of zeros in every group appended"},
      {"conv1d_backward_input 2x32x5 * 32x3x2 -> 6", "", "8 channels of zeros appended"},
      {"conv1d_backward_input 2x64x5 * 64x3x2 g2 -> 6", "", "8 channels of zeros in every group appended"},
      {"conv1d_backward_weight 32x4x6 * 32x3x5 -> 2",
       "every output is a sum over all images: the batch is part of the sum", "1 image of zeros appended"},
      {"conv1d_backward_weight 32x4x6 * 32x6x5 g2 -> 2",
       "every output is a sum over all images: the batch is part of the sum", "1 image of zeros appended"},
      {"sum 4x25", "one output: there is no batch", "64 zeros appended"},
      {"dot 2x32 * 2x32", "one output: there is no batch", "64 zeros appended"},
      {"mean 100", "one output: there is no batch",
       "a mean over more elements is divided by another number"}};
  const Variant whole = leaves_out([](std::int64_t k) { return k; }), last = leaves_out(kLastTile);
  for (const Expected& e : cases) {
    const std::string text = std::string(e.text) + " a=normal(0,1) seed=4";
    for (const Circumstance c : {Circumstance::batch_size, Circumstance::batch_position}) {
      const InvarianceFinding f = only(whole, c, text);
      EXPECT_EQ(f.skipped, e.no_batch) << text;
      EXPECT_TRUE(f.report.same_bits) << text << ": " << f.report.sentence;
    }
    const InvarianceFinding f = only(whole, Circumstance::zero_padding, text);
    EXPECT_EQ(f.skipped.empty() ? f.report.labels.back() : f.skipped, e.appended) << text;
    EXPECT_TRUE(f.report.same_bits) << text << ": " << f.report.sentence;
    if (f.skipped.empty() && lower(parse_case(text).problem).red[0].size > 16) {
      EXPECT_GT(only(last, Circumstance::zero_padding, text).report.beyond_order, 0) << text;
    }
  }
}

// What a variant refuses is not tried, and it says so in its own words.
TEST(InvarianceRuns, WhatTheVariantRefusesIsNotTried) {
  Variant v = leaves_out([](std::int64_t k) { return k; });
  v.unsupported = [](const Problem& p, DType, DType, Mode) {
    return p.a[1] > 40 || p.a[0] < 3 ? "not on Tuesdays" : "";
  };
  InvarianceFinding f = only(v, Circumstance::zero_padding, "gemm 6x32 * 32x4");
  EXPECT_EQ(f.report.runs, 2);
  EXPECT_EQ(f.remark, "64 zeros appended: not on Tuesdays");
  EXPECT_NE(only(v, Circumstance::zero_padding, "gemm 6x36 * 36x4").skipped.find("not on Tuesdays"),
            std::string::npos);
  EXPECT_EQ(only(v, Circumstance::batch_size, "gemm 4x32 * 32x4").skipped,
            "the variant refuses smaller batches: not on Tuesdays");
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
