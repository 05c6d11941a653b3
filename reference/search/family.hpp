#pragma once
// The plans a search walks: orders and partial sums that libraries were seen to use, with every parameter
// enumerated.
#include <cstdint>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/plan/slots.hpp"

namespace ulpscope {

/// Ways to divide `places` places of an order into partial sums. `tier` 0 are the ways seen in libraries;
/// tier 1 adds other joins of the same parts, for when tier 0 finds nothing.
struct Division {
  std::vector<Level> levels;
  std::int64_t residue = 0;
  Interleave interleave = {};
};
/// `step_terms`: products of a block step; 1: none.
std::vector<Division> divisions(std::int64_t places, std::int64_t outermost_step, int step_terms, int tier);

/// Orders to try over these reduction axes, the likeliest first.
std::vector<Order> orders(const std::vector<NamedExtent>& axes, bool block, int tier);

/// Plans with tiles of A's image, outermost: an order and its partial sums, for FMA chains. None for
/// operators without an image, or where it is smaller than every tile. Running sums are kept in `out`, where
/// that is shorter than fp32, or not.
struct TiledPlan {
  Order order;
  std::vector<Level> levels;
};
std::vector<TiledPlan> tilings(const Contraction& c, DType out);

/// Arithmetics that go with an operand format: FMA chains for fp32, block steps for what tensor cores take
/// (first of `block_terms` terms, if not 0).
std::vector<Arithmetic> arithmetics(OperandFormat a, OperandFormat b, int tier, int block_terms = 0);

}  // namespace ulpscope
