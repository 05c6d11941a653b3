#pragma once
#include <nlohmann/json.hpp>

#include "harness/drift.hpp"

namespace ulpscope {

/// {rows, spreads} as `ulpscope drift --json` writes them.
nlohmann::json to_json(const DriftReport& report);

/// What the orders of a case's sums do, for its record: {outputs, looked_at, summary, rows, spreads}. From a
/// piece of the case with the same sums, on inputs made for it; null where the problem cannot be cut to what
/// takes well under a second.
nlohmann::json drift_of_case(const Case& test, int threads);

/// The same on operands that no case makes (dumps of other programs).
nlohmann::json drift_of_operands(const Case& test, const Operands& operands, int threads);

}  // namespace ulpscope
