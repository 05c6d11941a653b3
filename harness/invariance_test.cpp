#include "harness/invariance.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "harness/inputs.hpp"
#include "harness/io/read_tensor.hpp"
#include "reference/error.hpp"
#include "reference/operators.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

struct Call {
  Inputs inputs;
  Contraction c;
  explicit Call(const std::string& text) {
    const Case test = parse_case(text);
    inputs = make_inputs(test);
    c = lower(test.problem);
  }
  Tensor run(const std::string& plan) const {
    Tensor out = make_tensor(DType::f32, {c.outputs()});
    replay(*parse_plan(plan), c, inputs.operands(), 0, c.outputs(), out.as<std::uint32_t>());
    return out;
  }
  ObservedRun observed(const std::string& label, const Tensor& out) const {
    return {label, &c, inputs.operands(), out.view(), {}};
  }
};

InvarianceOptions claims(const std::string& plan) {
  InvarianceOptions o;
  o.arithmetic = *parse_plan(plan);
  return o;
}

const std::string kGemm = "gemm 8x256 * 256x8 a=normal(0,1) b=normal(0,1) seed=1";

TEST(Invariance, SameBits) {
  const Call call(kGemm);
  const Tensor x = call.run("fp32 | fma"), y = call.run("fp32 | fma");
  const InvarianceReport r = compare_runs(
      Circumstance::repeat, {call.observed("run 1", x), call.observed("run 2", y)}, claims("fp32 | fma"));
  EXPECT_TRUE(r.same_bits);
  EXPECT_EQ(r.outputs, 64);
  EXPECT_FALSE(r.race);
  EXPECT_NE(r.sentence.find("same bits"), std::string::npos);
}

// Another order of the same sum is nondeterministic, but within what order can do; an error of ten bounds in
// one output is a race.
TEST(Invariance, OrderIsNoRaceAndARaceIsNoOrder) {
  const Call call(kGemm);
  const Tensor x = call.run("fp32 | fma"), y = call.run("fp32 | fma | order shuffle 3");
  const InvarianceReport order = compare_runs(
      Circumstance::repeat, {call.observed("run 1", x), call.observed("run 2", y)}, claims("fp32 | fma"));
  EXPECT_FALSE(order.same_bits);
  EXPECT_GT(order.differing, 20);
  EXPECT_EQ(order.beyond_order, 0);
  EXPECT_LT(order.headroom, 1);
  EXPECT_FALSE(order.race);
  EXPECT_FALSE(order.suspicious);
  EXPECT_LT(order.spread, 4 * order.expected_spread);
  Tensor z = call.run("fp32 | fma");
  z.as<float>()[37] += static_cast<float>(10 * order.order_bound);
  // Within the worst case, but a hundred times what orders are expected to do: said, too.
  Tensor odd = call.run("fp32 | fma");
  odd.as<float>()[5] += static_cast<float>(std::min(100 * order.expected_spread, order.order_bound / 4));
  const InvarianceReport suspect = compare_runs(
      Circumstance::repeat, {call.observed("run 1", x), call.observed("run 2", odd)}, claims("fp32 | fma"));
  EXPECT_TRUE(suspect.suspicious) << suspect.sentence;
  const InvarianceReport race = compare_runs(
      Circumstance::repeat, {call.observed("run 1", x), call.observed("run 2", z)}, claims("fp32 | fma"));
  EXPECT_EQ(race.differing, 1);
  EXPECT_EQ(race.first_differing, 37);
  EXPECT_TRUE(race.race);
  EXPECT_NE(race.sentence.find("race"), std::string::npos) << race.sentence;
  // Elsewhere than in repeats it may be another arithmetic.
  EXPECT_FALSE(compare_runs(Circumstance::launch_shape, {call.observed("a", x), call.observed("b", z)},
                            claims("fp32 | fma"))
                   .race);
}

TEST(Invariance, SignOfZeroAndNanAreBits) {
  const Call call("gemm 1x4 * 4x2 a=zeros b=ones");
  Tensor x = call.run("fp32 | fma"), y = call.run("fp32 | fma");
  y.as<float>()[1] = -0.0f;
  InvarianceReport r = compare_runs(Circumstance::repeat, {call.observed("1", x), call.observed("2", y)},
                                    claims("fp32 | fma"));
  EXPECT_EQ(r.differing, 1);
  EXPECT_EQ(r.values.size(), 2u);
  y.as<float>()[1] = NAN;
  r = compare_runs(Circumstance::repeat, {call.observed("1", x), call.observed("2", y)},
                   claims("fp32 | fma"));
  EXPECT_EQ(r.nonfinite_differing, 1);
  EXPECT_TRUE(r.race);
}

// Split-K by atomics of (1e30, -1e30, 1): 0 or 1 from run to run, and the additions that give each.
TEST(Invariance, AtomicsShowBothValuesAndTheirTrees) {
  const float a[] = {1e30f, -1e30f, 1}, b[] = {1, 1, 1};
  OperatorParams p;
  p.op = "gemm";
  const Contraction c = lower({p, {1, 3}, {3, 1}});
  const Operands in{{a, DType::f32, {1, 3}}, {b, DType::f32, {3, 1}}, {}};
  const float zero = 0, one = 1;
  const InvarianceReport r = compare_runs(Circumstance::repeat,
                                          {{"run 1", &c, in, {&zero, DType::f32, {1, 1}}, {}},
                                           {"run 2", &c, in, {&one, DType::f32, {1, 1}}, {}},
                                           {"run 3", &c, in, {&zero, DType::f32, {1, 1}}, {}}},
                                          claims("fp32 | mul_add"));
  EXPECT_FALSE(r.same_bits);
  EXPECT_FALSE(r.race);  // the bound is 1e23: order does this
  ASSERT_EQ(r.values.size(), 2u);
  EXPECT_EQ(r.values[0].value, 0);
  EXPECT_EQ(r.values[0].tree, "((0 2) 1)");
  EXPECT_EQ(r.values[0].runs, (std::vector<std::string>{"run 1", "run 3"}));
  EXPECT_EQ(r.values[1].value, 1);
  EXPECT_EQ(r.values[1].tree, "((0 1) 2)");
  // The trees are plans: replaying them gives the values.
  for (const ObservedValue& v : r.values) {
    std::uint32_t bits;
    replay(*parse_plan("fp32 | mul_add | order tree " + v.tree), c, in, 0, 1, &bits);
    EXPECT_EQ(std::bit_cast<float>(bits), static_cast<float>(v.value));
  }
  EXPECT_FALSE(
      sequence_that_gives(*parse_plan("fp32 | mul_add"), c, in, 0, std::bit_cast<std::uint32_t>(2.0f)));
}

// Position in the batch: the same row at two places of a larger call.
TEST(Invariance, CommonOutputsLieAtDifferentPlaces) {
  const Call call("gemm 4x32 * 32x5 a=ones b=uniform(0,1) seed=2");  // all rows alike
  const Tensor x = call.run("fp32 | fma");
  ObservedRun first = call.observed("row 0", x), last = call.observed("row 3", x);
  for (std::int64_t j = 0; j < 5; ++j) {
    first.at.push_back(j);
    last.at.push_back(15 + j);
  }
  const InvarianceReport r = compare_runs(Circumstance::batch_position, {first, last}, claims("fp32 | fma"));
  EXPECT_TRUE(r.same_bits);
  EXPECT_EQ(r.outputs, 5);
}

// One row through a linear layer in batches of 1, 2 ... 1024, recorded on an H200: different bits, within
// what order can do, and other plans.
TEST(Invariance, RecordedBatchSizes) {
  const std::string file =
      std::string(ULPSCOPE_SOURCE_DIR) + "/reports/recorded/pytorch-2.11-h200/linear_batch.npz:";
  const Tensor x = read_tensor(file + "x"), w = read_tensor(file + "w");
  OperatorParams p;
  p.op = "linear";
  const Contraction c = lower({p, x.shape, w.shape});
  const Operands in{x.view(), w.view(), {}};
  std::vector<Tensor> outputs;
  std::vector<ObservedRun> runs;
  for (const char* m : {"1", "2", "33", "1024"}) outputs.push_back(read_tensor(file + "y_fp32_m" + m));
  const char* labels[] = {"batch 1", "batch 2", "batch 33", "batch 1024"};
  for (std::size_t i = 0; i < outputs.size(); ++i) runs.push_back({labels[i], &c, in, outputs[i].view(), {}});
  const InvarianceReport r = compare_runs(Circumstance::batch_size, runs, claims("fp32 | fma"));
  std::printf("%s\n", r.sentence.c_str());
  EXPECT_FALSE(r.same_bits);
  EXPECT_GT(r.differing, 40);
  EXPECT_EQ(r.beyond_order, 0);
  EXPECT_FALSE(r.suspicious);
  EXPECT_GT(r.spread, 0);
  // TF32 against fp32 is more than order can do, and not called a race.
  const Tensor tf32 = read_tensor(file + "y_tf32_m1024");
  const InvarianceReport mixed = compare_runs(
      Circumstance::batch_size, {runs[3], {"tf32", &c, in, tf32.view(), {}}}, claims("fp32 | fma"));
  EXPECT_GT(mixed.differing, 0);
  EXPECT_FALSE(mixed.race);
}

TEST(Invariance, NamesThePlansThatDiffer) {
  const Call call("gemm 8x96 * 96x8 a=normal(0,1) b=normal(0,1) seed=4");
  const Tensor x = call.run("fp32 | fma"), y = call.run("fp32 | fma | order k | split 2 seq");
  InvarianceOptions options = claims("fp32 | fma");
  options.search_seconds = 20;
  const InvarianceReport r =
      compare_runs(Circumstance::batch_size, {call.observed("1", x), call.observed("64", y)}, options);
  EXPECT_TRUE(r.plans_differ);
  EXPECT_TRUE(r.plans_account);
  // Two slices of 48: `split 2` and `chunks 48` say the same.
  EXPECT_TRUE(r.plans[1].find("split 2") != std::string::npos ||
              r.plans[1].find("chunks 48") != std::string::npos)
      << r.plans[1];
  EXPECT_NE(r.sentence.find(r.plans[1]), std::string::npos) << r.sentence;
  EXPECT_EQ(r.beyond_order, 0);
}

TEST(Invariance, RefusesRunsThatDoNotFit) {
  const Call call(kGemm);
  const Tensor x = call.run("fp32 | fma");
  EXPECT_THROW(compare_runs(Circumstance::repeat, {call.observed("1", x)}, claims("fp32 | fma")), Error);
  ObservedRun few = call.observed("2", x), beyond = few;
  few.at = {0, 1};
  EXPECT_THROW(compare_runs(Circumstance::repeat, {call.observed("1", x), few}, claims("fp32 | fma")), Error);
  beyond.at.assign(64, 64);
  EXPECT_THROW(compare_runs(Circumstance::repeat, {call.observed("1", x), beyond}, claims("fp32 | fma")),
               Error);
}

}  // namespace
}  // namespace ulpscope
