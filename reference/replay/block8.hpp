#pragma once
// The tensor-core step for eight outputs at once, in integers (included by *.simd.cpp only).
//
// Products of TF32, BF16 or FP16 operands have at most 22 bits, so they are exact in fp32. Scaled by 2^(F-e),
// e the largest exponent, and converted with truncation they are the aligned terms; |term| < 2^(F+2), so with
// F <= 25 eight of them and the accumulator fit 31 bits. Converting the sum back under round-toward-zero is
// the step's one rounding.
//
// That holds for F-123 <= e <= 120: there a product below 2^-126, which fp32 cannot hold exactly, is less
// than one unit and vanishes, the result is no subnormal, and nothing overflows. Zero operands carry a very
// small exponent, infinities and NaN a very large one. Anything else is left to the exact scalar step.
#include "reference/replay/kernels.hpp"
#include "reference/replay/vector8.hpp"

namespace ulpscope {
namespace ULPSCOPE_SIMD_LEVEL {
namespace {

struct BlockLimits {
  I8 low, high;   // of e
  I8 scale_bias;  // F + 127
  explicit BlockLimits(int frac, int floor)
      : low(all(frac - 123 > floor ? frac - 123 : floor)), high(all(120)), scale_bias(all(frac + 127)) {}
};

/// products[0..terms), their largest exponent (kZeroExponent sums below -1000: all zero). `slow` is set where
/// the result is not to be used.
template <int terms>
inline F8 block_step8(const F8* product, I8 largest, F8 acc, const BlockLimits& limits, I8& slow) {
  const I8 acc_exponent =
      (shift_right<23>(bits_of(acc)) & all(0xff)) - all(127);  // zero, subnormal: -127, harmless
  const I8 nothing = all(-1000) > largest;                     // every product is zero: the accumulator stays
  const I8 e = max(largest, acc_exponent);
  const I8 outside = (limits.low > e) | (e > limits.high);
  slow = and_not(nothing, outside);
  const F8 scale = float_of_bits(shift_left<23>(limits.scale_bias - e));
  const F8 back = float_of_bits(shift_left<23>(e - limits.scale_bias + all(254)));
  constexpr int groups = terms < 8 ? 1 : terms / 8, each = terms / groups;
  I8 sum[groups];
  for (int g = 0; g < groups; ++g) {
    sum[g] = truncated(product[g * each] * scale);
    for (int i = 1; i < each; ++i) sum[g] = sum[g] + truncated(product[g * each + i] * scale);
  }
  sum[0] = sum[0] + truncated(acc * scale);
  const F8 value = (groups == 1 ? converted(sum[0]) : converted_sum(sum, groups)) * back;
  return select(nothing, acc + all(0.0f), value);  // -0 + 0 is +0
}

}  // namespace
}  // namespace ULPSCOPE_SIMD_LEVEL
}  // namespace ulpscope
