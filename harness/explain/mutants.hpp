#pragma once
// Mistakes as changed index maps: each is a contraction over the same operands that a wrong kernel would
// compute. Every map stays inside its operands.
#include <string>
#include <vector>

#include "reference/operators.hpp"

namespace ulpscope {

struct Mutant {
  std::string name, what;
  Contraction map;
};

/// All mutants of a (possibly sliced) contraction that differ from it, the likeliest first.
std::vector<Mutant> mutants_of(const Problem& problem, const Contraction& c);

/// Whether every index lies in the operands.
bool stays_inside(const Contraction& c);

/// Value and S of one output.
struct MutantSum {
  double value = 0, magnitude = 0;
  std::int64_t terms = 0;
};
}  // namespace ulpscope
