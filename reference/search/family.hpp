#pragma once
// The plans a search walks: orders and partial sums that libraries were seen to use, with every parameter
// enumerated.
#include <cstdint>
#include <vector>

#include "reference/plan/plan_types.hpp"
#include "reference/plan/slots.hpp"

namespace ulpscope {

/// Ways to divide `places` places of an order into partial sums. `tier` 0 are the ways seen in libraries;
/// tier 1 adds other joins of the same parts, for when tier 0 finds nothing.
struct Division {
  std::vector<Level> levels;
  std::int64_t residue = 0;
};
std::vector<Division> divisions(std::int64_t places, std::int64_t outermost_step, bool block, int tier);

/// Orders to try over these reduction axes, the likeliest first.
std::vector<Order> orders(const std::vector<NamedExtent>& axes, bool block, int tier);

/// Arithmetics that go with an operand format: FMA chains for fp32, block steps for what tensor cores take
/// (first of `block_terms` terms, if not 0).
std::vector<Arithmetic> arithmetics(OperandFormat a, OperandFormat b, int tier, int block_terms = 0);

}  // namespace ulpscope
