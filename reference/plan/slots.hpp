#pragma once
// A plan's order, laid out: the sequence of places, each holding a term or nothing.
#include <cstdint>
#include <string>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {

/// A reduction axis as the order sees it.
struct NamedExtent {
  std::string name;
  std::int64_t size = 1;
};

/// The reduction axes of a contraction in canonical order, outermost first.
std::vector<NamedExtent> reduction_axes(const Contraction& c);

/// slot[p] = canonical term * passes + pass of the product in place p, or -1 for an empty place. Throws Error
/// if the order names an axis that is not there, leaves one out, or counts more than 2^31 places.
struct Slots {
  std::vector<std::int64_t> slot;
  std::int64_t terms = 0;           // canonical terms
  std::int64_t outermost_step = 1;  // places per step of the order's outermost axis
  std::string outermost_axis;       // its name
};

Slots lay_out(const Order& order, const std::vector<NamedExtent>& axes, int passes);

}  // namespace ulpscope
