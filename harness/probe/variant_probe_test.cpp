// The real host variants, probed through the executor: what they declare is what they do.
#include "harness/probe/variant_probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/probe/report.hpp"
#include "reference/error.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class VariantProbeTest : public ::testing::Test {
 protected:
  std::string reason;
  std::unique_ptr<Executor> host = make_executor(Where::host, reason);

  static const Variant& variant(const std::string& op, const std::string& name) {
    for (const Variant* v : variants_of(op))
      if (v->name == name) return *v;
    throw Error("no variant " + name);
  }
  /// A variant that declares a plan and follows it.
  static Variant following(const std::string& op, const std::string& plan) {
    Variant v = variant(op, "host_naive");
    v.plan = [plan](const Problem&, Mode) { return plan; };
    v.launch = [plan](const LaunchArgs& args) {
      const Problem& q = *args.problem;
      const Operands operands{{args.a, DType::f32, q.a}, {args.b, DType::f32, q.b}, {}};
      replay(*parse_plan(plan), *args.contraction, operands, 0, args.contraction->outputs(),
             static_cast<std::uint32_t*>(args.out), 2);
      return LaunchNotes{};
    };
    return v;
  }
  ProbedVariant probed(const Variant& v, const std::string& text, std::int64_t launches = 16) {
    VariantProbeOptions options;
    options.max_launches = launches;
    options.threads = 2;
    return probe_variant(*host, {&v, Mode::fp32, ""}, probe_size(parse_case(text)), options);
  }
  ProbedVariant probed(const std::string& name, const std::string& text) {
    return probed(variant(parse_case(text).problem.params.op, name), text);
  }
};

TEST_F(VariantProbeTest, HostVariantsAreWhatTheyDeclare) {
  for (const char* text :
       {"gemm 101x259 * 259x67", "linear 96x200 * 80x200 bias", "conv2d 2x32x12x12 * 48x32x1x1",
        "conv2d 2x24x12x12 * 32x24x3x3 p1", "conv_transpose1d 4x32x60 * 32x24x5 d3"})
    for (const char* name : {"host_naive", "host_blocked", "host_pairwise"}) {
      const ProbedVariant p = probed(name, text);
      SCOPED_TRACE(std::string(name) + " " + text + " " + p.reason + " " + p.result.plan + " " +
                   p.difference);
      EXPECT_TRUE(p.found());
      EXPECT_TRUE(p.unique());
      EXPECT_EQ(p.as_declared(), true);
      EXPECT_LE(p.launches, 16);
      EXPECT_FALSE(p.hinted);
      EXPECT_EQ(p.result.terms_covered, p.result.terms);
    }
}

TEST_F(VariantProbeTest, AnUndeclaredLibraryIsFound) {
  // Short enough to be one chain, whatever blocking Eigen takes from this machine's caches.
  const ProbedVariant p = probed("host_eigen", "gemm 120x90 * 90x96");
  EXPECT_TRUE(p.unique()) << p.result.plan;
  EXPECT_THAT(p.result.plan, AnyOf("fp32 | mul_add", "fp32 | fma"));  // by its instruction set
  EXPECT_EQ(p.as_declared(), std::nullopt);
}

TEST_F(VariantProbeTest, OneOutputTakesOneQuestionALaunch) {
  for (const char* text : {"dot 70 * 70", "sum 70"})
    for (const char* name : {"host_naive", "host_blocked", "host_pairwise"}) {
      const ProbedVariant p = probed(name, text);
      EXPECT_TRUE(p.found()) << name << " " << text << " " << p.result.plan;
      EXPECT_EQ(p.as_declared(), true) << name << " " << text << " " << p.result.plan << " " << p.difference;
    }
}

TEST_F(VariantProbeTest, SixteenBitData) {
  const ProbedVariant p = probed("host_blocked", "gemm 96x200 * 200x80 in=bf16 out=bf16");
  EXPECT_TRUE(p.unique()) << p.result.plan;
  EXPECT_EQ(p.as_declared(), true) << p.difference;
}

// Three TF32 products per term, as the tensor-core kernels declare them: masks see the main pass, the
// declared plan is held to every bit.
TEST_F(VariantProbeTest, SchemesOfSeveralPasses) {
  const char* plan =
      "tf32_rna passes lo*hi hi*lo hi*hi | block 8 frac 25 rz | order pass/2 k/8 pass k | split 2 of pass | "
      "chunks 8";
  const ProbedVariant p = probed(following("gemm", plan), "gemm 96x64 * 64x80");
  EXPECT_EQ(p.status, "ok") << p.reason;
  EXPECT_EQ(p.as_declared(), true) << p.result.plan << " " << p.difference;
  EXPECT_GT(p.result.masks, 0);
  EXPECT_EQ(p.declared_equal, p.declared_tested);
}

// One product a lane: nothing shows whether it is fused with the zero it is added to.
TEST_F(VariantProbeTest, WhatNoProbeCanSeeIsNoDifference) {
  const ProbedVariant p =
      probed(following("dot", "fp32 | fma | split 16 | lanes 8 butterfly"), "dot 90 * 90");
  EXPECT_EQ(p.as_declared(), true) << p.result.plan << " " << p.difference;
}

TEST_F(VariantProbeTest, AFalseDeclarationIsDifferent) {
  Variant liar = variant("gemm", "host_blocked");
  liar.plan = [](const Problem&, Mode) { return std::string("fp32 | fma | chunks 32"); };
  ProbedVariant p = probed(liar, "gemm 101x259 * 259x67");
  EXPECT_TRUE(p.found());
  EXPECT_EQ(p.same_tree, false);
  EXPECT_EQ(p.as_declared(), false);
  EXPECT_LT(p.declared_equal, p.declared_tested);
  ProbeReport report;
  report.targets = {p};
  EXPECT_EQ(exit_code_of(report), 0);  // it was probed; nobody asked what it declares
  report.compare_declared = true;
  EXPECT_EQ(exit_code_of(report), 1);
  EXPECT_THAT(render_probe(report), HasSubstr("DIFFERENT"));
  EXPECT_EQ(to_json(report)["targets"][0]["as_declared"], false);

  liar.plan = [](const Problem&, Mode) { return std::string("fp32 | mul_add | chunks 64"); };
  p = probed(liar, "gemm 101x259 * 259x67");
  EXPECT_EQ(p.same_tree, true);  // the order is right, the arithmetic is not
  EXPECT_EQ(p.as_declared(), false);
}

TEST_F(VariantProbeTest, OtherBitsInOneLaunchAreNotFound) {
  Variant unsteady = variant("gemm", "host_naive");
  auto count = std::make_shared<int>(0);
  unsteady.launch = [launch = unsteady.launch, count](const LaunchArgs& args) {
    const LaunchNotes notes = launch(args);
    if ((*count)++ == 1) static_cast<std::uint32_t*>(args.out)[5] ^= 1;
    return notes;
  };
  const ProbedVariant p = probed(unsteady, "gemm 64x80 * 80x64");
  EXPECT_EQ(p.differing, 1);
  EXPECT_FALSE(p.found());
}

TEST_F(VariantProbeTest, FailuresAreReportedAndDoNotStop) {
  Variant broken = variant("gemm", "host_naive");
  broken.launch = [](const LaunchArgs&) -> LaunchNotes { throw Error("out of luck"); };
  const ProbedVariant p = probed(broken, "gemm 64x80 * 80x64");
  EXPECT_EQ(p.status, "error");
  EXPECT_EQ(p.reason, "out of luck");
  ProbeReport report;
  report.targets = {p};
  EXPECT_EQ(exit_code_of(report), 2);
  EXPECT_THAT(render_probe(report), HasSubstr("error: out of luck"));
}

TEST_F(VariantProbeTest, LongProductsInSixteenLaunches) {
  const ProbedVariant p = probed("host_blocked", "gemm 256x4096 * 4096x256");
  EXPECT_TRUE(p.unique()) << p.result.plan;
  EXPECT_LE(p.launches, 16);
  EXPECT_EQ(p.result.terms_covered, 4096);
}

TEST(ProbeSize, FewerOutputsOfTheSameTerms) {
  const Case small = probe_size(parse_case("conv2d 16x64x1024x1024 * 128x64x1x1"));
  const Contraction c = lower(small.problem);
  EXPECT_EQ(c.terms(), 64);
  EXPECT_LE(c.outputs(), 1 << 17);
  const Case same = parse_case("gemm 101x259 * 259x67");
  EXPECT_EQ(to_string(probe_size(same)), to_string(same));
}

}  // namespace
}  // namespace ulpscope
