#pragma once
// Eight floats and eight 32-bit integers: the one place that knows which instructions there are. Included by
// *.simd.cpp only, so that each instruction-set level has its own copy.
#include <cstdint>
#include <cstring>

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define ULPSCOPE_AVX2 1
#endif

namespace ulpscope {
namespace ULPSCOPE_SIMD_LEVEL {
namespace {

#if defined(ULPSCOPE_AVX2)

struct F8 {
  __m256 v;
};
struct I8 {
  __m256i v;
};

inline F8 load(const float* p) {
  return {_mm256_loadu_ps(p)};
}
inline F8 all(float x) {
  return {_mm256_set1_ps(x)};
}
inline void store(float* p, F8 x) {
  _mm256_storeu_ps(p, x.v);
}
inline F8 operator+(F8 x, F8 y) {
  return {_mm256_add_ps(x.v, y.v)};
}
inline F8 operator-(F8 x, F8 y) {
  return {_mm256_sub_ps(x.v, y.v)};
}
inline F8 operator*(F8 x, F8 y) {
  return {_mm256_mul_ps(x.v, y.v)};
}
inline F8 fma(F8 x, F8 y, F8 z) {
  return {_mm256_fmadd_ps(x.v, y.v, z.v)};
}
inline I8 load(const std::int32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
inline I8 all(std::int32_t x) {
  return {_mm256_set1_epi32(x)};
}
inline I8 operator+(I8 x, I8 y) {
  return {_mm256_add_epi32(x.v, y.v)};
}
inline I8 operator-(I8 x, I8 y) {
  return {_mm256_sub_epi32(x.v, y.v)};
}
inline I8 operator&(I8 x, I8 y) {
  return {_mm256_and_si256(x.v, y.v)};
}
inline I8 operator|(I8 x, I8 y) {
  return {_mm256_or_si256(x.v, y.v)};
}
inline I8 and_not(I8 not_this, I8 x) {
  return {_mm256_andnot_si256(not_this.v, x.v)};
}
inline I8 operator>(I8 x, I8 y) {
  return {_mm256_cmpgt_epi32(x.v, y.v)};
}
inline I8 max(I8 x, I8 y) {
  return {_mm256_max_epi32(x.v, y.v)};
}
template <int n>
inline I8 shift_left(I8 x) {
  return {_mm256_slli_epi32(x.v, n)};
}
template <int n>
inline I8 shift_right(I8 x) {
  return {_mm256_srli_epi32(x.v, n)};
}
inline I8 bits_of(F8 x) {
  return {_mm256_castps_si256(x.v)};
}
inline F8 float_of_bits(I8 x) {
  return {_mm256_castsi256_ps(x.v)};
}
inline I8 truncated(F8 x) {
  return {_mm256_cvttps_epi32(x.v)};
}
inline F8 converted(I8 x) {  // in the current rounding mode
  return {_mm256_cvtepi32_ps(x.v)};
}
/// float(x + y) of integers whose sum may need 34 bits, in the current rounding mode.
inline F8 converted_sum(const I8* x, int n) {
  __m256d low = _mm256_cvtepi32_pd(_mm256_castsi256_si128(x[0].v));
  __m256d high = _mm256_cvtepi32_pd(_mm256_extracti128_si256(x[0].v, 1));
  for (int i = 1; i < n; ++i) {
    low = _mm256_add_pd(low, _mm256_cvtepi32_pd(_mm256_castsi256_si128(x[i].v)));
    high = _mm256_add_pd(high, _mm256_cvtepi32_pd(_mm256_extracti128_si256(x[i].v, 1)));
  }
  return {_mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low))};
}
inline F8 select(I8 mask, F8 yes, F8 no) {
  return {_mm256_blendv_ps(no.v, yes.v, _mm256_castsi256_ps(mask.v))};
}
inline bool any(I8 mask) {
  return _mm256_movemask_epi8(mask.v) != 0;
}

#else  // plain loops, which the compiler turns into whatever the baseline has

struct F8 {
  float v[8];
};
struct I8 {
  std::int32_t v[8];
};

template <class R, class F>
inline R made(F f) {
  R r;
  for (int i = 0; i < 8; ++i) r.v[i] = f(i);
  return r;
}
inline F8 load(const float* p) {
  return made<F8>([&](int i) { return p[i]; });
}
inline F8 all(float x) {
  return made<F8>([&](int) { return x; });
}
inline void store(float* p, F8 x) {
  for (int i = 0; i < 8; ++i) p[i] = x.v[i];
}
inline F8 operator+(F8 x, F8 y) {
  return made<F8>([&](int i) { return x.v[i] + y.v[i]; });
}
inline F8 operator-(F8 x, F8 y) {
  return made<F8>([&](int i) { return x.v[i] - y.v[i]; });
}
inline F8 operator*(F8 x, F8 y) {
  return made<F8>([&](int i) { return x.v[i] * y.v[i]; });
}
inline F8 fma(F8 x, F8 y, F8 z) {
  return made<F8>([&](int i) { return __builtin_fmaf(x.v[i], y.v[i], z.v[i]); });
}
inline I8 load(const std::int32_t* p) {
  return made<I8>([&](int i) { return p[i]; });
}
inline I8 all(std::int32_t x) {
  return made<I8>([&](int) { return x; });
}
// Wrapping, as the instructions do: lanes whose result is thrown away may overflow.
inline I8 operator+(I8 x, I8 y) {
  return made<I8>([&](int i) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(x.v[i]) + static_cast<std::uint32_t>(y.v[i]));
  });
}
inline I8 operator-(I8 x, I8 y) {
  return made<I8>([&](int i) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(x.v[i]) - static_cast<std::uint32_t>(y.v[i]));
  });
}
inline I8 operator&(I8 x, I8 y) {
  return made<I8>([&](int i) { return x.v[i] & y.v[i]; });
}
inline I8 operator|(I8 x, I8 y) {
  return made<I8>([&](int i) { return x.v[i] | y.v[i]; });
}
inline I8 and_not(I8 not_this, I8 x) {
  return made<I8>([&](int i) { return ~not_this.v[i] & x.v[i]; });
}
inline I8 operator>(I8 x, I8 y) {
  return made<I8>([&](int i) { return x.v[i] > y.v[i] ? -1 : 0; });
}
inline I8 max(I8 x, I8 y) {
  return made<I8>([&](int i) { return x.v[i] > y.v[i] ? x.v[i] : y.v[i]; });
}
template <int n>
inline I8 shift_left(I8 x) {
  return made<I8>([&](int i) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(x.v[i]) << n); });
}
template <int n>
inline I8 shift_right(I8 x) {
  return made<I8>([&](int i) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(x.v[i]) >> n); });
}
inline I8 bits_of(F8 x) {
  I8 r;
  std::memcpy(&r, &x, sizeof r);
  return r;
}
inline F8 float_of_bits(I8 x) {
  F8 r;
  std::memcpy(&r, &x, sizeof r);
  return r;
}
inline I8 truncated(F8 x) {
  return made<I8>([&](int i) {  // out of range: what the instruction gives
    return x.v[i] > -2147483648.0f && x.v[i] < 2147483648.0f ? static_cast<std::int32_t>(x.v[i]) : INT32_MIN;
  });
}
inline F8 converted(I8 x) {
  return made<F8>([&](int i) { return static_cast<float>(x.v[i]); });
}
inline F8 converted_sum(const I8* x, int n) {
  return made<F8>([&](int i) {
    double sum = x[0].v[i];
    for (int k = 1; k < n; ++k) sum += x[k].v[i];
    return static_cast<float>(sum);
  });
}
inline F8 select(I8 mask, F8 yes, F8 no) {
  return made<F8>([&](int i) { return mask.v[i] ? yes.v[i] : no.v[i]; });
}
inline bool any(I8 mask) {
  std::int32_t some = 0;
  for (int i = 0; i < 8; ++i) some |= mask.v[i];
  return some != 0;
}

#endif

}  // namespace
}  // namespace ULPSCOPE_SIMD_LEVEL
}  // namespace ulpscope
