#pragma once
// A plan that the search tries.
#include <cstdint>

#include "reference/plan.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/plan/program.hpp"

namespace ulpscope {

struct Candidate {
  Plan plan;
  Program program;        // of plans that have one for all outputs
  std::int64_t rank = 0;  // where it stands among those tried side by side: the simplest first
};

/// Of operands, arithmetic and program: plans that are written differently and do the same have the same.
std::uint64_t hash_of(const Candidate& c);

}  // namespace ulpscope
