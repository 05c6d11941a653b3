#pragma once
// A few outputs of a large contraction as a small one of their own: every output's terms copied out, side by
// side.
#include <cstdint>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/exact.hpp"

namespace ulpscope {

/// One output axis over the chosen outputs; the reduction axes keep their names and sizes, so a plan means
/// the same. A tap that falls into padding becomes 0 * 0: sums keep their bits, the sign of a zero apart.
struct GatheredOutputs {
  Contraction c;
  Tensor a, b, bias;  // b, bias may be empty

  Operands operands() const { return {a.view(), b.view(), bias.view()}; }
};

/// `outputs`: linear indices. Memory: outputs * terms elements per operand.
GatheredOutputs gather_outputs(const Contraction& c, const Operands& operands,
                               const std::vector<std::int64_t>& outputs);

}  // namespace ulpscope
