#pragma once
// Replay of plans whose partial sums differ from output to output (`tiles 128`).
#include <cstdint>

#include "reference/contraction.hpp"
#include "reference/exact.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {

/// As replay(): outputs whose taps share tiles in the same way share a program, and runs of neighbours are
/// replayed together.
void replay_by_tile(const Plan& plan, const Contraction& c, const Operands& operands, std::int64_t begin,
                    std::int64_t count, std::uint32_t* out, int threads);

}  // namespace ulpscope
