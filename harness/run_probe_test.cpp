// Launches on constants: what they say of right variants, and of ones that add wrongly.
#include "harness/run_probe.hpp"
#include <algorithm>

#include <gtest/gtest.h>

#include "kernels/support/variant_inputs.hpp"

namespace ulpscope {
namespace {

struct Launch {
  Problem problem;
  Contraction c;
  VariantInputs inputs;
  LaunchArgs args;
  std::unique_ptr<Executor> executor;

  Launch(const Problem& p, DType in, DType out, Random& pick)
      : problem(p), c(lower(p)), inputs(random_inputs(p, in, Values::uniform, pick)) {
    std::string reason;
    executor = make_executor(Where::host, reason);
    executor->set_inputs(inputs.operands());
    args.problem = &problem;
    args.contraction = &c;
    args.in_dtype = in;
    args.out_dtype = out;
  }
};

// Every host variant of every operator, on shapes with edges, groups, strides, batches and means.
TEST(SumsOfOnes, AreRightForEveryRightVariant) {
  Random pick{std::mt19937_64(51)};
  std::int64_t looked_at = 0;
  for (const Variant& v : variants()) {
    if (v.where != Where::host || v.name.starts_with("planted")) continue;
    for (int i = 0; i < 12; ++i) {
      const Problem p = random_problem(v.op, pick);
      const DType type = i % 3 == 0 ? DType::bf16 : i % 3 == 1 ? DType::f16 : DType::f32;
      if (!v.unsupported(p, type, type, v.modes[0]).empty()) continue;
      Launch launch(p, type, type, pick);
      launch.args.mode = v.modes[0];
      const SumsOfOnes ones = probe_sums_of_ones(*launch.executor, v, launch.args);
      EXPECT_EQ(ones.wrong, 0) << v.op << " " << v.name << " " << to_string(p) << " " << name_of(type)
                               << ": output " << ones.first_wrong << " gives " << ones.seen << " for "
                               << ones.terms;
      looked_at += ones.outputs;
    }
  }
  EXPECT_GT(looked_at, 1000);
}

// One output of many, and more than there should be.
TEST(SumsOfOnes, OneWrongOutputIsFoundAmongThoseLookedAt) {
  Random pick{std::mt19937_64(52)};
  Problem p;
  p.params.op = "gemm";
  p.a = {4, 9};
  p.b = {9, 4};
  Launch launch(p, DType::f32, DType::f32, pick);
  Variant v;
  v.op = "gemm";
  v.name = "adds_one_twice";
  v.launch = [](const LaunchArgs& args) {
    for (std::int64_t o = 0; o < 16; ++o) static_cast<float*>(args.out)[o] = o == 11 ? 10 : 9;
    return LaunchNotes{};
  };
  const SumsOfOnes ones = probe_sums_of_ones(*launch.executor, v, launch.args);
  EXPECT_EQ(ones.outputs, 16);
  EXPECT_EQ(ones.wrong, 1);
  EXPECT_EQ(ones.first_wrong, 11);
  EXPECT_EQ(ones.terms, 9);
  EXPECT_EQ(ones.seen, 10);
}

// A term lost in the last column alone, which a stride through the outputs may never meet.
TEST(SumsOfOnes, CornersAreLookedAt) {
  Random pick{std::mt19937_64(54)};
  for (const auto& [m, n] : {std::pair{151, 10}, {301, 20}, {7, 33}, {1, 64}, {64, 1}}) {
    Problem p;
    p.params.op = "gemm";
    p.a = {m, 9};
    p.b = {9, n};
    Launch launch(p, DType::f32, DType::f32, pick);
    Variant v;
    v.op = "gemm";
    v.name = "loses_one_in_the_last_column";
    const std::int64_t columns = n;
    v.launch = [columns](const LaunchArgs& args) {
      for (std::int64_t o = 0; o < args.contraction->outputs(); ++o)
        static_cast<float*>(args.out)[o] = o % columns == columns - 1 ? 8 : 9;
      return LaunchNotes{};
    };
    EXPECT_GT(probe_sums_of_ones(*launch.executor, v, launch.args).wrong, 0) << m << "x" << n;
  }
}

// fp32 operands, 16-bit results: too coarse to tell what the operands lost. No accusation.
TEST(EffectiveMode, IsNotReadOffSixteenBitOutputs) {
  Random pick{std::mt19937_64(55)};
  for (const DType out : {DType::f16, DType::bf16})
    for (const std::int64_t k : {61, 512, 1024, 2000}) {
      Problem p;
      p.params.op = "gemm";
      p.a = {4, k};
      p.b = {k, 4};
      Launch launch(p, DType::f32, out, pick);
      for (const Variant* v : variants_of("gemm"))
        if (v->where == Where::host && v->unsupported &&
            v->unsupported(p, DType::f32, out, Mode::fp32).empty()) {
          EXPECT_EQ(probe_effective_mode(*launch.executor, *v, launch.args), "unknown")
              << v->name << " " << k;
        }
    }
}

// 16-bit results hold whole numbers only so far; beyond that nothing is said.
TEST(SumsOfOnes, OutputsThatCannotHoldTheCountAreLeftOut) {
  Random pick{std::mt19937_64(53)};
  for (const std::int64_t k : {256, 257}) {
    Problem p;
    p.params.op = "gemm";
    p.a = {4, k};
    p.b = {k, 4};
    Launch launch(p, DType::bf16, DType::bf16, pick);
    launch.args.mode = Mode::bf16;
    Variant v;
    v.op = "gemm";
    v.name = "zeros";
    v.launch = [](const LaunchArgs& args) {
      std::fill_n(static_cast<std::uint16_t*>(args.out), 16, std::uint16_t{0});
      return LaunchNotes{};
    };
    EXPECT_EQ(probe_sums_of_ones(*launch.executor, v, launch.args).outputs, k == 256 ? 16 : 0) << k;
  }
}

}  // namespace
}  // namespace ulpscope
