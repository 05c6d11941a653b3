#pragma once
// Which shortenings of the operands can have led to the outputs seen, whatever the order of addition.
#include <cstdint>
#include <vector>

#include "reference/search/search.hpp"

namespace ulpscope {

/// Every admitted pair of formats (SearchOptions::operands), least residual first, judged on a sample:
/// indices into `seen`.
std::vector<OperandFit> rank_operands(const Contraction& c, const Operands& operands, const Observation& seen,
                                      const std::vector<std::size_t>& sample,
                                      const std::vector<OperandFormat>& admitted);

}  // namespace ulpscope
