// Probes against implementations whose plan is known: replay stands in for the device.
#include "reference/probe/probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "reference/error.hpp"
#include "reference/operators.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/plan/program.hpp"

namespace ulpscope {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Problem gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem p;
  p.params.op = "gemm";
  p.a = {m, k};
  p.b = {k, n};
  return p;
}

ProbeTarget device(const Problem& problem, const std::string& text, DType in = DType::f32) {
  ProbeTarget t;
  t.contraction = lower(problem);
  t.in = in;
  const auto plan = parse_plan(text);
  t.out = output_format(*plan);
  t.run = [c = t.contraction, plan](const Operands& operands, std::uint32_t* bits) {
    replay(*plan, c, operands, 0, c.outputs(), bits, 1);
  };
  return t;
}

bool same_order(const std::string& x, const std::string& y, const Contraction& c) {
  return compile(*parse_plan(x), reduction_axes(c)) == compile(*parse_plan(y), reduction_axes(c));
}

std::string notes(const ProbeResult& r) {
  std::string text = r.plan;
  for (const std::string& n : r.notes) text += "\n  " + n;
  return text + "\n  masks " + std::to_string(r.masks_agreeing) + "/" + std::to_string(r.masks) +
         " outputs " + std::to_string(r.outputs_agreeing) + "/" + std::to_string(r.outputs);
}

void expect_found(const Problem& problem, const std::string& text, DType in = DType::f32,
                  ProbeOptions options = {}) {
  const ProbeTarget t = device(problem, text, in);
  const ProbeResult r = probe(t, options);
  ASSERT_FALSE(r.plan.empty()) << text << notes(r);
  EXPECT_TRUE(r.confirmed) << text << " " << notes(r);
  EXPECT_TRUE(same_order(r.plan, text, t.contraction)) << text << " but " << notes(r);
  EXPECT_EQ(parse_plan(r.plan)->arithmetic, parse_plan(text)->arithmetic) << text << " but " << r.plan;
  EXPECT_LE(r.launches, options.max_launches) << text;
}

class ProbeGemm : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(
    Plans, ProbeGemm,
    ::testing::Values("fp32 | fma", "fp32 | mul_add", "fp32 | fma fp64", "fp32 | mul_add fp32 fp64",
                      "fp32 | kahan", "fp32 | fma | order reversed", "fp32 | fma | chunks 32 seq",
                      "fp32 | fma | split 5 align 4 seq", "fp32 | fma | lanes 8 every 8 seq",
                      "fp32 | fma | lanes 32 butterfly", "fp32 | fma | pairwise",
                      "fp32 | fma | lanes 16 seq | chunks 8 seq", "tf32_rne | block 8 frac 25 rz",
                      "tf32_rna | block 8 frac 25 rz | split 4 align 8 seq", "tf32_rz | block 4 frac 24 rz",
                      "bf16 | block 16 frac 25 rz", "a tf32_rna b tf32_rne | block 8 frac 25 rz",
                      "tf32_rne | fma", "bf16 | block 16 frac 25 rz | out bf16"));

TEST_P(ProbeGemm, FindsThePlan) {
  expect_found(gemm(96, 80, 250), GetParam());
}

TEST(Probe, SixteenBitTensors) {
  expect_found(gemm(64, 64, 200), "bf16 | block 16 frac 25 rz | chunks 64 seq | out bf16", DType::bf16);
  expect_found(gemm(64, 64, 96), "fp16 | block 16 frac 25 rz", DType::f16);
  expect_found(gemm(64, 64, 96), "fp16 | fma | chunks 32 seq", DType::f16);
  // A result that ends at 2^-24 still shows 25 fractional bits, and how the last one is rounded.
  for (const char* step : {"block 16 frac 24 rz", "block 16 frac 25 rz", "block 16 frac 25 rne"})
    expect_found(gemm(64, 64, 200), std::string("fp16 | ") + step + " | out fp16", DType::f16);
  expect_found(gemm(64, 64, 96), "fp16 | kahan | out fp16", DType::f16);
  // 257 is no bf16 number: of 288 ones no more than 256 are counted.
  expect_found(gemm(64, 64, 288), "bf16 | fma | chunks 96 seq | out bf16", DType::bf16);
}

TEST(Probe, OperandRoundingsAreToldApart) {
  for (const char* name :
       {"fp32", "tf32_rne", "tf32_rna", "tf32_rz", "bf16", "bf16_rz", "fp16", "fp8_e4m3", "fp8_e5m2"}) {
    const ProbeResult r = probe(device(gemm(40, 40, 24), std::string("a ") + name + " b fp32 | fma"));
    EXPECT_EQ(r.arithmetic.a, std::vector{parse_operand(name)}) << name;
    EXPECT_EQ(r.arithmetic.b, std::vector{OperandFormat::fp32}) << name;
    // fp8_e4m3 reaches from 2^-9 to 448: no mask swallows anything there.
    EXPECT_EQ(r.confirmed, std::string(name) != "fp8_e4m3") << notes(r);
  }
}

TEST(Probe, BlockParameters) {
  for (const int terms : {4, 8, 16})
    for (const int frac : {23, 24, 25}) {
      const std::string text =
          "bf16 | block " + std::to_string(terms) + " frac " + std::to_string(frac) + " rz";
      const ProbeResult r = probe(device(gemm(64, 64, 80), text));
      EXPECT_TRUE(r.arithmetic.block);
      EXPECT_EQ(r.arithmetic.terms, terms) << text;
      EXPECT_EQ(r.arithmetic.frac, frac) << text;
      EXPECT_EQ(r.arithmetic.truncates, frac > 23 ? Seen::yes : Seen::unknown) << text;
      EXPECT_EQ(r.plan, text);
    }
  EXPECT_EQ(probe(device(gemm(64, 64, 80), "bf16 | block 8 frac 25 rne")).arithmetic.truncates, Seen::no);
}

TEST(Probe, ConvolutionsByDisjointPatches) {
  Problem p;
  p.params.op = "conv2d";
  p.params.padding = {1, 1, 0};
  p.a = {2, 32, 20, 20};
  p.b = {48, 32, 3, 3};
  expect_found(p, "fp32 | fma");
  expect_found(p, "tf32_rna | block 8 frac 25 rz | order c/16 kh kw c");
  expect_found(p, "fp32 | fma | order kh kw c | split 3 seq");
  Problem t;
  t.params.op = "conv_transpose1d";
  t.params.dilation[0] = 3;
  t.a = {4, 32, 128};
  t.b = {32, 40, 5};
  expect_found(t, "tf32_rna | block 8 frac 25 rz | order c/16 kw c");
}

TEST(Probe, SumsAndDotProducts) {
  Problem sum;
  sum.params.op = "sum";
  sum.a = {48};
  Problem dot;
  dot.params.op = "dot";
  dot.a = dot.b = {12};
  ProbeOptions patient;
  patient.max_launches = 1200;  // one output: one question a launch
  expect_found(dot, "fp32 | fma | lanes 4 tree", DType::f32, patient);
  expect_found(sum, "fp32 | fma | lanes 8 butterfly", DType::f32, patient);
}

// One output, an order no family knows: a tree of lanes and warps read pair by pair.
TEST(Probe, OneOutputShowsItsWholeTree) {
  Problem dot;
  dot.params.op = "dot";
  dot.a = dot.b = {300};
  ProbeOptions options;
  options.max_launches = launches_for_tree(300) + 200;
  options.random_launches = 16;
  const std::string text = "fp32 | fma | order shuffle 3 | lanes 16 butterfly";
  const ProbeResult r = probe(device(dot, text), options);
  EXPECT_TRUE(r.confirmed) << notes(r);
  EXPECT_TRUE(
      compare(tree_of(*parse_plan(r.plan), {{"k", 300}}), tree_of(*parse_plan(text), {{"k", 300}})).same);
  EXPECT_GT(r.launches, 300);
}

// Short data leave few terms that can be counted: the order must be among those that libraries use.
TEST(Probe, ShortDotProductsAreFoundInTheFamily) {
  Problem dot;
  dot.params.op = "dot";
  dot.a = dot.b = {1500};
  ProbeOptions options;
  options.max_launches = 2500;
  options.random_launches = 32;
  const std::string order = " | fma | lanes 4 every 128 seq | chunks 128 seq | lanes 128 butterfly | out ";
  for (const auto& [name, in] : {std::pair{"bf16", DType::bf16}, {"fp16", DType::f16}}) {
    const ProbeTarget t = device(dot, name + order + name, in);
    const ProbeResult r = probe(t, options);
    EXPECT_TRUE(r.confirmed) << notes(r);
    EXPECT_TRUE(same_order(r.plan, name + order + name, t.contraction)) << notes(r);
  }
}

// An order no family knows is read from masks alone.
TEST(Probe, UnknownTreesAreRead) {
  ProbeOptions options;
  options.max_launches = 40;
  const ProbeTarget t = device(gemm(64, 32, 60), "fp32 | fma | order shuffle 5 | chunks 7 butterfly");
  const ProbeResult r = probe(t, options);
  EXPECT_TRUE(r.confirmed) << notes(r);
  EXPECT_THAT(r.plan, HasSubstr("order tree"));
  const auto truth = tree_of(*parse_plan("fp32 | fma | order shuffle 5 | chunks 7 butterfly"), {{"k", 60}});
  EXPECT_TRUE(compare(tree_of(*parse_plan(r.plan), {{"k", 60}}), truth).same);
  const ProbeResult blocks = probe(
      device(gemm(64, 32, 60), "tf32_rne | block 4 frac 25 rz | order shuffle 6 | lanes 3 seq"), options);
  EXPECT_TRUE(blocks.confirmed) << notes(blocks);
  EXPECT_EQ(blocks.arithmetic.terms, 4);
}

TEST(Probe, HintsAreTriedFirst) {
  ProbeOptions options;
  options.hints = {"fp32 | fma | order k reversed", "fp32 | fma | order shuffle 9", "nonsense axis"};
  options.hints.pop_back();
  expect_found(gemm(64, 64, 100), "fp32 | fma | order shuffle 9", DType::f32, options);
}

// ---- implementations that are not what they seem

TEST(Probe, AnotherOrderElsewhereIsNotConfirmed) {
  ProbeTarget t = device(gemm(64, 64, 100), "fp32 | fma");
  const auto other = parse_plan("fp32 | fma | split 2");
  t.run = [run = t.run, c = t.contraction, other](const Operands& operands, std::uint32_t* bits) {
    run(operands, bits);
    replay(*other, c, operands, 64 * 63, 64, bits + 64 * 63, 1);  // the last row tile is summed in two slices
  };
  const ProbeResult r = probe(t);
  EXPECT_FALSE(r.confirmed);
  EXPECT_LT(r.outputs_agreeing, r.outputs);
}

TEST(Probe, AWrongHintIsNotConfirmed) {
  ProbeOptions options;
  options.hints = {"fp32 | fma | split 2"};
  const ProbeResult r = probe(device(gemm(64, 64, 100), "fp32 | fma | split 4"), options);
  EXPECT_TRUE(r.confirmed);
  EXPECT_TRUE(same_order(r.plan, "fp32 | fma | split 4", lower(gemm(64, 64, 100))));
}

TEST(Probe, ALostTailIsSeen) {
  ProbeTarget t = device(gemm(32, 32, 100), "fp32 | fma");
  t.run = [run = t.run](const Operands& operands, std::uint32_t* bits) {
    Tensor a = make_tensor(DType::f32, operands.a.shape);
    const auto* from = static_cast<const float*>(operands.a.data);
    for (std::int64_t i = 0; i < operands.a.size(); ++i) a.as<float>()[i] = i % 100 < 96 ? from[i] : 0.0f;
    Operands cut = operands;
    cut.a.data = a.data.get();
    run(cut, bits);
  };
  const ProbeResult r = probe(t);
  EXPECT_FALSE(r.confirmed);
  EXPECT_THAT(r.notes, Contains(HasSubstr("the last 4 terms are missing")));
}

TEST(Probe, BadTargetsAreRefused) {
  ProbeTarget t = device(gemm(4, 4, 4), "fp32 | fma");
  t.run = {};
  EXPECT_THROW(probe(t), Error);
  Problem p;
  p.params.op = "conv1d";
  p.params.padding[0] = 3;
  p.a = {1, 1, 2};
  p.b = {1, 1, 5};
  EXPECT_THROW(probe(device(p, "fp32 | fma")), Error);
}

// A product of K = 4096 in at most 16 launches, every term in some mask, with the confirmation.
TEST(Probe, LongProductsInSixteenLaunches) {
  const char* text = "fp32 | fma | lanes 16 every 8 seq";
  const ProbeTarget t = device(gemm(256, 256, 4096), text);
  const ProbeResult r = probe(t);
  EXPECT_TRUE(r.confirmed) << notes(r);
  EXPECT_TRUE(same_order(r.plan, text, t.contraction)) << notes(r);
  EXPECT_LE(r.launches, 16);
  EXPECT_EQ(r.terms_covered, 4096);
}

}  // namespace
}  // namespace ulpscope
