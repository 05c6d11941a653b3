#pragma once
// fp32 to TF32 (10 stored significand bits): the three roundings that libraries use. The result is an fp32
// number whose low 13 bits are zero. Infinities and NaN pass through: rounding up a NaN's payload would turn
// it into -0 or infinity.
#include "kernels/support/host_device.hpp"

namespace ulpscope {

enum class Tf32Rounding { rne, rna, rz };  // nearest ties to even, nearest ties away, toward zero

template <Tf32Rounding R>
ULPSCOPE_HD float to_tf32(float v) {
  std::uint32_t u = bits_of(v);
  if ((u & 0x7fffffffu) >= 0x7f800000u) return v;
  if constexpr (R == Tf32Rounding::rne) u += 0xfffu + ((u >> 13) & 1u);
  if constexpr (R == Tf32Rounding::rna) u += 0x1000u;
  return float_of(u & ~0x1fffu);
}

}  // namespace ulpscope
