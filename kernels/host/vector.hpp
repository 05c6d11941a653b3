#pragma once
// The vector loops of host variants, compiled per instruction-set level (rows.simd.cpp). Elements of x lie
// x_step apart.
#include <cstdint>

#include "reference/simd.hpp"

namespace ulpscope::host {

struct Loops {
  /// sum[i*sum_step] = fma(a[i*a_step], b[i*b_step], sum[i*sum_step])
  void (*fma)(float* sum, std::int64_t sum_step, const float* a, std::int64_t a_step, const float* b,
              std::int64_t b_step, std::int64_t n);
  /// sum[i] += x[i]
  void (*add)(float* sum, const float* x, std::int64_t n);
  /// x[i] = value
  void (*fill)(float* x, float value, std::int64_t n);
};

namespace simd_base {
Loops loops();
}
namespace simd_v3 {
Loops loops();
}

inline Loops loops() {
  return simd_level() == SimdLevel::v3 ? simd_v3::loops() : simd_base::loops();
}

}  // namespace ulpscope::host
