#pragma once
// Rows for a tensor-core step, as numbers: what is asked, and how it is encoded.
#include <cstdint>
#include <vector>

#include "harness/probe/step_probe.hpp"

namespace ulpscope {

struct StepRow {
  std::vector<float> a, b;  // mma_k products; missing ones are zero
  float c = 0;
};

OperandFormat operand_of(MmaKind kind);  // as the instruction reads it
DType accumulator_of(MmaKind kind);

/// The product sign * 2^exponent in place k, shared out between the two operands.
void put_power(StepRow& row, std::size_t k, int exponent, float sign = 1);

/// Bits of all rows at once. Values must be representable, or are rounded to nearest.
struct StepBits {
  std::vector<std::uint32_t> a, b, c;
};
StepBits encode(MmaKind kind, const std::vector<StepRow>& rows);

/// What `step` makes of one row of bits, as many steps in a chain as the row is long; result bits.
std::uint32_t replay_row(MmaKind kind, const BlockStep& step, const StepBits& bits, std::int64_t row);

/// Rows that would show another arithmetic: full significands near each other and far apart, cancellation,
/// numbers below the normal range, zeros, infinities and NaN.
std::vector<StepRow> random_rows(MmaKind kind, std::int64_t count, std::uint64_t seed);

}  // namespace ulpscope
