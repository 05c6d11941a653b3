#pragma once
#include <string>

#include "harness/judge.hpp"
#include "kernels/support/executor.hpp"
#include "reference/plan.hpp"

namespace ulpscope {

/// What a variant does to its fp32 operands, seen from one launch on constant ones: "fp32", "tf32", "bf16",
/// "fp16", or "unknown" where accumulation errors hide it. TF32 and FP16 keep the same bits; they are told
/// apart by range. Flags lie: cuDNN runs fp32 kernels though TF32 is allowed, and drivers override what was
/// asked for.
std::string probe_effective_mode(Executor& executor, const Variant& variant, const LaunchArgs& args);

/// Whether a launch on ones sums as many as each of up to 256 outputs has terms: those a capture would keep.
/// Not for engines that transform their operands. Outputs whose format cannot hold the number of terms are
/// left out. Throws Error on failure.
SumsOfOnes probe_sums_of_ones(Executor& executor, const Variant& variant, const LaunchArgs& args);

/// The same as the first from a plan that replayed.
std::string effective_mode_of(const Plan& plan);

}  // namespace ulpscope
