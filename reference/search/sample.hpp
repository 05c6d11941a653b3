#pragma once
// A few outputs with all their terms at hand, so that thousands of plans can be tried on them.
#include <cstdint>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/exact.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/plan/program.hpp"

namespace ulpscope {

/// One output: its terms' operands by canonical number (shortened), which terms exist, and what was seen.
struct SampledOutput {
  std::vector<float> a, b;
  std::vector<std::uint8_t> has;
  double bias = 0;
  std::uint32_t seen = 0;
};

/// Operands are shortened to the given formats. fp64 tensors are read as fp32, as plans do.
SampledOutput sample_output(const Contraction& c, const Operands& operands, OperandFormat a, OperandFormat b,
                            std::int64_t output, std::uint32_t seen);

/// What the program makes of the output: the bits `finish` writes. Single-pass plans with fp32, fp64 or
/// 16-bit accumulators; the same result as ScalarReplay, which walks the index map anew for every output.
std::uint32_t run(const Plan& plan, const Program& program, const Contraction& c, const SampledOutput& output,
                  std::vector<double>& registers);

}  // namespace ulpscope
