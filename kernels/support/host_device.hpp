#pragma once
// Functions that run on the CPU and in kernels alike, so that index maps and summation orders written for a
// GPU are tested without one. The only place that asks which compiler is at work.
#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define ULPSCOPE_HD __host__ __device__ __forceinline__
#else
#define ULPSCOPE_HD inline
#endif

namespace ulpscope {

// One IEEE operation each, rounded to nearest even, never contracted (device: intrinsics; host:
// -ffp-contract=off).
#ifdef __CUDA_ARCH__
ULPSCOPE_HD float fma_rn(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
ULPSCOPE_HD float mul_rn(float a, float b) {
  return __fmul_rn(a, b);
}
ULPSCOPE_HD float add_rn(float a, float b) {
  return __fadd_rn(a, b);
}
ULPSCOPE_HD float sub_rn(float a, float b) {
  return __fsub_rn(a, b);
}
ULPSCOPE_HD double fma_rn(double a, double b, double c) {
  return __fma_rn(a, b, c);
}
ULPSCOPE_HD double add_rn(double a, double b) {
  return __dadd_rn(a, b);
}
ULPSCOPE_HD std::uint32_t bits_of(float v) {
  return __float_as_uint(v);
}
ULPSCOPE_HD float float_of(std::uint32_t u) {
  return __uint_as_float(u);
}
#else
ULPSCOPE_HD float fma_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
ULPSCOPE_HD float mul_rn(float a, float b) {
  return a * b;
}
ULPSCOPE_HD float add_rn(float a, float b) {
  return a + b;
}
ULPSCOPE_HD float sub_rn(float a, float b) {
  return a - b;
}
ULPSCOPE_HD double fma_rn(double a, double b, double c) {
  return std::fma(a, b, c);
}
ULPSCOPE_HD double add_rn(double a, double b) {
  return a + b;
}
ULPSCOPE_HD std::uint32_t bits_of(float v) {
  std::uint32_t u;
  std::memcpy(&u, &v, sizeof u);
  return u;
}
ULPSCOPE_HD float float_of(std::uint32_t u) {
  float v;
  std::memcpy(&v, &u, sizeof v);
  return v;
}
#endif

/// Quotient and remainder of a non-negative 64-bit index by a positive 32-bit size; a 32-bit division where
/// both fit, because a 64-bit one costs a GPU about a hundred instructions.
ULPSCOPE_HD std::int64_t divide(std::int64_t index, int size, int& remainder) {
  if ((index >> 31) == 0) {
    const auto i = static_cast<std::uint32_t>(index);
    const auto s = static_cast<std::uint32_t>(size);
    remainder = static_cast<int>(i % s);
    return i / s;
  }
  remainder = static_cast<int>(index % size);
  return index / size;
}

}  // namespace ulpscope
