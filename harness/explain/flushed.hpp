#pragma once
// Kernels that take subnormal numbers for zero: built with -ftz=true, or adding by atomics.
#include <optional>
#include <string>
#include <vector>

#include "harness/explain/side.hpp"
#include "reference/search/search.hpp"

namespace ulpscope {

/// Whether `seen`, where the true value is `value`, is a zero in a subnormal number's place (fp32).
bool flushed_to_zero(double seen, double value);

struct FlushedPlans {
  SearchResult found;  // its plans, replayed with subnormals taken for zero, give every bit
  std::string what;    // "results" or "operands and results"
};

/// Plans that give every output of `y` once subnormal results, and perhaps operands, count as zero; none
/// where no operand or result is subnormal, or some result is one and was kept. Partial sums are not flushed.
std::optional<FlushedPlans> flushed_plans(const Contraction& c, const Operands& operands, const TensorView& y,
                                          const Truth& truth, const SearchOptions& options);

}  // namespace ulpscope
