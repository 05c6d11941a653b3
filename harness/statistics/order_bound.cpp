#include "harness/statistics/order_bound.hpp"

#include <algorithm>

namespace ulpscope {

OrderBound sum_bound(const Plan& plan, const Contraction& c, const Operands& operands, int threads) {
  const PlanBound whole = bound_of(plan, c, operands, threads);
  if (!plan.operands.passes.empty()) return {whole, 1, 0};  // passes leave out products, too
  // The bound of the same plan on operands that need no shortening: fp64 keeps each as it is, and a wider
  // product fills more bits of a block step, never fewer. Shortened operands may be larger than the given
  // ones by the format's relative error; below its normal numbers by what `whole.absolute` counts.
  Plan as_is = plan;
  as_is.operands.a = as_is.operands.b = OperandFormat::fp64;
  OrderBound bound{bound_of(as_is, c, operands, threads)};
  bound.growth = (1 + info(plan.operands.a).relative) * (1 + info(plan.operands.b).relative);
  bound.absolute = whole.absolute;
  return bound;
}

Plan any_order(const Plan& plan) {
  Plan open = plan;
  open.order = {};
  Level pieces;
  pieces.divide = Divide::chunks;
  pieces.count = plan.arithmetic.step == Step::block ? plan.arithmetic.block.terms : 1;
  pieces.join = Join::unordered;
  open.levels = {pieces};
  return open;
}

OrderBound any_order_bound(const Plan& plan, const Contraction& c, const Operands& operands, int threads) {
  Plan chain = plan;
  chain.order = {};
  chain.levels.clear();
  OrderBound bound = sum_bound(chain, c, operands, threads);
  // Compensation makes the order of a chain immaterial.
  if (plan.arithmetic.step == Step::kahan || plan.arithmetic.step == Step::kahan_fma) return bound;
  const OrderBound open = sum_bound(any_order(plan), c, operands, threads);
  if (plan.arithmetic.step == Step::block) {
    // A way through the tree takes at most every step of one chain and an addition for every step.
    bound.sum.per_s += open.sum.per_s;
    bound.sum.absolute += open.sum.absolute;
  } else {
    bound.sum.per_s = std::max(bound.sum.per_s, open.sum.per_s);
    bound.sum.absolute = std::max(bound.sum.absolute, open.sum.absolute);
  }
  bound.sum.largest_s = std::min(bound.sum.largest_s, open.sum.largest_s);
  return bound;
}

}  // namespace ulpscope
