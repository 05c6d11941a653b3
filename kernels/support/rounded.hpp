#pragma once
// fp64 arithmetic that gives the same bits on the host, in kernels and at every instruction-set level: no
// compiler may fuse these roundings. All of it has internal linkage, because what is built on it is compiled
// several times (*.simd.cpp), which host_device.hpp's inline functions must not be.
#include <cstdint>

#ifdef __CUDACC__
#define ULPSCOPE_HOST_DEVICE __host__ __device__
#else
#define ULPSCOPE_HOST_DEVICE
#endif

namespace ulpscope {

#ifdef __CUDA_ARCH__
__device__ static inline double rounded_mul(double x, double y) {
  return __dmul_rn(x, y);
}
__device__ static inline double rounded_add(double x, double y) {
  return __dadd_rn(x, y);
}
__device__ static inline double rounded_div(double x, double y) {
  return __ddiv_rn(x, y);
}
__device__ static inline double rounded_sqrt(double x) {
  return __dsqrt_rn(x);
}
__device__ static inline double bits_to_double(std::uint64_t bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}
__device__ static inline std::uint64_t double_to_bits(double x) {
  return static_cast<std::uint64_t>(__double_as_longlong(x));
}
__device__ static inline std::uint32_t float_bits_rn(double x) {
  return __float_as_uint(__double2float_rn(x));
}
#else  // host files are compiled with -ffp-contract=off
ULPSCOPE_HOST_DEVICE static inline double rounded_mul(double x, double y) {
  return x * y;
}
ULPSCOPE_HOST_DEVICE static inline double rounded_add(double x, double y) {
  return x + y;
}
ULPSCOPE_HOST_DEVICE static inline double rounded_div(double x, double y) {
  return x / y;
}
ULPSCOPE_HOST_DEVICE static inline double rounded_sqrt(double x) {
  return __builtin_sqrt(x);
}
ULPSCOPE_HOST_DEVICE static inline double bits_to_double(std::uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
ULPSCOPE_HOST_DEVICE static inline std::uint64_t double_to_bits(double x) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
ULPSCOPE_HOST_DEVICE static inline std::uint32_t float_bits_rn(double x) {
  const float f = static_cast<float>(x);
  std::uint32_t bits;
  __builtin_memcpy(&bits, &f, sizeof bits);
  return bits;
}
#endif

/// An unsigned integer below 2^52 as a double, by bit pattern: exact, and vectorisable where no instruction
/// converts 64-bit integers.
ULPSCOPE_HOST_DEVICE static inline double exact_double(std::uint64_t below_2_52) {
  return rounded_add(bits_to_double(below_2_52 | 0x4330000000000000u), -0x1p52);
}

}  // namespace ulpscope
