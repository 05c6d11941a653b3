#include "harness/statistics/order_bound.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/inputs.hpp"
#include "reference/operators.hpp"

namespace ulpscope {
namespace {

// Random orders of one arithmetic stay within the bound of their sum, although their common operand rounding
// is a thousand times larger than it.
TEST(OrderBound, HoldsForRandomOrdersOfShortOperands) {
  const Case test = parse_case("gemm 8x512 * 512x8 a=uniform(0,1) b=uniform(0,1) seed=1");
  const Inputs inputs = make_inputs(test);
  const Contraction c = lower(test.problem);
  for (const std::string head :
       {"tf32_rz | block 8 frac 25 rz", "bf16 | block 16 frac 25 rz", "fp32 | fma", "tf32_rne | mul_add"}) {
    const auto plan = parse_plan(head);
    const OrderBound any = any_order_bound(*plan, c, inputs.operands());
    std::vector<std::uint32_t> x(64), y(64);
    replay(*plan, c, inputs.operands(), 0, 64, x.data());
    double largest = 0;
    for (int seed = 0; seed < 20; ++seed) {
      replay(*parse_plan(head + " | order shuffle " + std::to_string(seed)), c, inputs.operands(), 0, 64,
             y.data());
      for (std::size_t i = 0; i < 64; ++i)
        largest =
            std::max(largest, std::fabs(value_of_bits(DType::f32, x[i]) - value_of_bits(DType::f32, y[i])));
    }
    const double s = 200;  // every S here is less: 512 products of mean 1/4
    EXPECT_LE(largest, 2 * any.at(s)) << head;
    EXPECT_GT(largest, 0) << head;
    if (plan->operands.a != OperandFormat::fp32) {
      EXPECT_LT(any.at(s), bound_of(*plan, c, inputs.operands()).at(s) / 4) << head;
    }
  }
}

TEST(OrderBound, IsAtLeastThatOfOneOrder) {
  const Case test = parse_case("gemm 2x100 * 100x2 a=normal(0,1) b=normal(0,1) seed=2");
  const Inputs inputs = make_inputs(test);
  const Contraction c = lower(test.problem);
  for (const std::string text :
       {"fp32 | fma", "fp32 | fma | pairwise", "tf32_rne | block 8 frac 25 rz | split 4"}) {
    const auto plan = parse_plan(text);
    EXPECT_GE(any_order_bound(*plan, c, inputs.operands()).at(1),
              sum_bound(*plan, c, inputs.operands()).at(1))
        << text;
  }
}

}  // namespace
}  // namespace ulpscope
