#pragma once
// One tensor-core step: d = c + a0*b0 + ... as the hardware does it, in one function of its parameters.
//
// The products are exact and not renormalised: a product of significands in [1,2) counts with exponent ea+eb
// although it may reach [2,4). Products and c are aligned to the largest exponent among them, truncated
// toward zero to `frac` fractional bits there, added exactly, and rounded once. Measured on an H200
// (reports/recorded), and the same rule is described for other chips (Xie et al., MMA-Sim; Fasi et al.).
#include <cstdint>

#include "reference/arithmetic/operand.hpp"
#include "reference/formats.hpp"

namespace ulpscope {

enum class StepRounding : std::uint8_t { rz, rne };

struct BlockStep {
  int terms = 8;  // L: products per step
  int frac = 25;  // F: fractional bits kept at the largest exponent
  StepRounding rounding = StepRounding::rz;
  int floor = -133;  // the largest exponent is not taken below this
  int keep = 23;     // fractional bits of the result (Hopper's FP8 keeps 13)
  DType accumulator = DType::f32;
  bool operator==(const BlockStep&) const = default;
};

/// Largest `frac` and `terms` that block_step computes exactly.
inline constexpr int kMaxFrac = 60, kMaxBlockTerms = 1024;

/// n <= kMaxBlockTerms products (fewer than step.terms: the others are absent, not zero: there is no 0*inf).
/// a and b hold values of `format_a`, `format_b` (their emin is the exponent of subnormal operands). NaN, inf
/// - inf, 0*inf give NaN; overflow gives an infinity, also under rz; a zero is always +0.
float block_step(const BlockStep& step, OperandFormat format_a, OperandFormat format_b, const float* a,
                 const float* b, int n, float c);

/// The NaN that NVIDIA hardware writes.
inline constexpr std::uint32_t kCanonicalNan = 0x7fffffff;

}  // namespace ulpscope
