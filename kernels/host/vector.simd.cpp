#include "kernels/host/vector.hpp"

namespace ulpscope::host {
namespace ULPSCOPE_SIMD_LEVEL {
namespace {

// The cases that matter: one operand runs with the outputs, the other stands still or runs too.
void fma_loop(float* __restrict__ sum, std::int64_t sum_step, const float* __restrict__ a,
              std::int64_t a_step, const float* __restrict__ b, std::int64_t b_step, std::int64_t n) {
  if (sum_step == 1 && a_step == 1 && b_step == 0) {
    const float v = *b;
    for (std::int64_t i = 0; i < n; ++i) sum[i] = __builtin_fmaf(a[i], v, sum[i]);
  } else if (sum_step == 1 && a_step == 0 && b_step == 1) {
    const float v = *a;
    for (std::int64_t i = 0; i < n; ++i) sum[i] = __builtin_fmaf(v, b[i], sum[i]);
  } else if (sum_step == 1 && a_step == 1 && b_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) sum[i] = __builtin_fmaf(a[i], b[i], sum[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      sum[i * sum_step] = __builtin_fmaf(a[i * a_step], b[i * b_step], sum[i * sum_step]);
  }
}

void add_loop(float* __restrict__ sum, const float* __restrict__ x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

void fill_loop(float* x, float value, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = value;
}

}  // namespace

Loops loops() {
  return {fma_loop, add_loop, fill_loop};
}

}  // namespace ULPSCOPE_SIMD_LEVEL
}  // namespace ulpscope::host
