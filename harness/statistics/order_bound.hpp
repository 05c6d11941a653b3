#pragma once
#include "reference/plan.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {

/// How far one result may be from the true sum of its shortened operands: what order, and nothing else, can
/// move. Two results of one arithmetic on the same data differ by at most twice this.
struct OrderBound {
  PlanBound sum;
  double growth = 1;    // S of the shortened operands against S of the given ones
  double absolute = 0;  // operands below the format's normal numbers
  double at(double s) const { return sum.at(s * growth) + absolute; }
};

/// For the plan's own order.
OrderBound sum_bound(const Plan& plan, const Contraction& c, const Operands& operands, int threads = 0);

/// For the plan's arithmetic in whatever order its terms (or whole block steps) come, in however many partial
/// sums.
OrderBound any_order_bound(const Plan& plan, const Contraction& c, const Operands& operands, int threads = 0);

/// The plan's arithmetic with its terms (or block steps) joined in an order left open, as atomics do.
Plan any_order(const Plan& plan);

}  // namespace ulpscope
