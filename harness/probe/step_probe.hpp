#pragma once
// What one tensor-core instruction does to numbers, from its answers: how many products it fuses, how many
// bits it keeps, how it rounds, what becomes of subnormal numbers; then random rows against the step found.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/probe/mma_step.hpp"
#include "reference/arithmetic/block_step.hpp"

namespace ulpscope {

/// The instruction, or anything that claims to do what it does: rows of mma_k(kind) products and an
/// accumulator each, in and out as raw bits (mma_step).
using StepFunction = std::function<std::vector<std::uint32_t>(
    MmaKind kind, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b,
    const std::vector<std::uint32_t>& c)>;

struct StepFindings {
  MmaKind kind = MmaKind::tf32_f32;
  std::string error;      // why it could not be probed; "" if it was
  BlockStep step;         // L, F, rounding, floor and kept bits
  bool chained = true;    // steps of L follow each other, each with the sum so far fused in
  std::string rounding;   // of the result: "rz", "rne", or "other"
  std::string alignment;  // of products that reach below F: "rz", or "other"
  bool subnormal_operands = false, subnormal_results = false, subnormal_accumulators = false;  // kept
  std::uint32_t nan = 0;                             // the bits of a NaN result
  std::int64_t launches = 0, tested = 0, equal = 0;  // random rows against the step found
  std::string architecture;                          // the table's row; "" if it has none
  std::optional<bool> agrees;                        // with that row; none: there is no row, or no answer
  std::string difference;                            // where it disagrees, one line
};

/// `sm`: compute capability, 10*major + minor, whose row of the table is compared; 0: none. Never throws:
/// what `run` throws becomes `error`.
StepFindings probe_step(MmaKind kind, int sm, const StepFunction& run);

/// All four kinds.
std::vector<StepFindings> probe_steps(int sm, const StepFunction& run);

/// Whether what was found agrees with the table in every row it has; none if nothing could be compared. `why`
/// says what disagrees, or why nothing could be compared.
std::optional<bool> arithmetic_agrees(const std::vector<StepFindings>& steps, std::string& why);

/// The same for this process's CUDA device, probed once.
struct DeviceArithmetic {
  std::vector<StepFindings> steps;
  std::optional<bool> agrees;
  std::string why;
};
const DeviceArithmetic& device_arithmetic();

}  // namespace ulpscope
