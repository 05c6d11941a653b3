#include "reference/exact/kernel.hpp"

#include <cstring>
#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace ulpscope {
namespace ULPSCOPE_SIMD_LEVEL {
namespace {

#if defined(__AVX2__)
constexpr int kVector = 4;
#else
constexpr int kVector = 2;
#endif
typedef double Vec __attribute__((vector_size(kVector * 8)));
typedef std::int64_t Bits __attribute__((vector_size(kVector * 8)));

inline Vec load(const double* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(double* p, Vec v) {
  std::memcpy(p, &v, sizeof v);
}
inline Vec all(double x) {
#if defined(__AVX2__)
  return Vec{x, x, x, x};
#else
  return Vec{x, x};
#endif
}
inline Bits all_bits(std::int64_t x) {
  return Bits{} + x;
}
inline Vec abs(Vec v) {
  return (Vec)((Bits)v & all_bits(0x7fffffffffffffff));
}
inline Vec multiply_add(Vec a, Vec b, Vec c) {
#if defined(__FMA__)
  return (Vec)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}
inline bool any(Bits mask) {
#if defined(__AVX2__)
  return _mm256_movemask_pd((__m256d)mask) != 0;
#else
  return (mask[0] | mask[1]) != 0;
#endif
}

// Rounds to the grid of a format of `precision` bits and least exponent `emin`, to nearest even. The ulp 2^u
// at x (u = max(exponent, emin) - precision + 1) makes 1.5 * 2^(u + 52) a number whose own ulp is 2^u: adding
// it rounds x there, subtracting it is exact. The sign of zero is put back.
struct Grid {
  Bits least_exponent, shift;
  Vec overflow;  // first magnitude beyond the largest finite number
};

inline Grid grid_of(DType type) {
  const int precision = type == DType::f32 ? 24 : type == DType::bf16 ? 8 : 11;
  const int emin = type == DType::f16 ? -14 : -126;
  return {all_bits(static_cast<std::int64_t>(emin + 1023) << 52),
          all_bits(static_cast<std::int64_t>(53 - precision) << 52),
          all(type == DType::f16 ? 0x1p16 : 0x1p128)};
}

inline Vec round_to_grid(Vec x, const Grid& grid) {
  Bits exponent = (Bits)x & all_bits(0x7ff0000000000000);
  const Bits below = exponent < grid.least_exponent;
  exponent = (grid.least_exponent & below) | (exponent & ~below);
  const Vec magic = (Vec)((exponent + grid.shift) | all_bits(0x0008000000000000));
  const Vec rounded = (x + magic) - magic;
  const Bits sign = (Bits)x & all_bits(INT64_MIN);
  return (Vec)(((Bits)rounded & all_bits(0x7fffffffffffffff)) | sign);
}

// Bits of a double that lies on the format's grid.
inline std::uint32_t encode(double x, DType type) {
  std::uint32_t bits;
  if (type == DType::f16) {
    // A half is a float scaled by 2^-112 and shifted by the 13 fraction bits it lacks, subnormals included.
    const float scaled = static_cast<float>(x * 0x1p-112);
    std::memcpy(&bits, &scaled, sizeof bits);
    const std::uint32_t sign = bits >> 31 << 15, rest = (bits & 0x7fffffff) >> 13;
    return sign | (rest > 0x7c00 ? 0x7c00 : rest);  // 2^16 and beyond: infinity
  }
  const float f = static_cast<float>(x);
  std::memcpy(&bits, &f, sizeof bits);
  return type == DType::bf16 ? bits >> 16 : bits;
}

inline void encode_vector(Vec x, DType type, std::uint32_t* out) {
#if defined(__AVX2__)
  if (type == DType::f32) {
    _mm_storeu_ps(reinterpret_cast<float*>(out), _mm256_cvtpd_ps((__m256d)x));
    return;
  }
#endif
  for (int i = 0; i < kVector; ++i) out[i] = encode(x[i], type);
}

// Mask of lanes in which lo and hi round alike.
template <bool Narrow>
inline Bits rounds_alike(Vec lo, Vec hi, const Grid& grid) {
#if defined(__AVX2__)
  if constexpr (!Narrow) {
    const __m128i x = _mm_castps_si128(_mm256_cvtpd_ps((__m256d)lo));
    const __m128i y = _mm_castps_si128(_mm256_cvtpd_ps((__m256d)hi));
    return (Bits)_mm256_cvtepi32_epi64(_mm_cmpeq_epi32(x, y));
  }
#endif
  const Vec x = round_to_grid(lo, grid), y = round_to_grid(hi, grid);
  return ((Bits)x == (Bits)y) | ((x >= grid.overflow) & (y >= grid.overflow)) |
         ((x <= -grid.overflow) & (y <= -grid.overflow));
}

// Certificate (numerics: "Exact"): the truth lies in [s - E, s + E]; rounding is monotone, so if both ends
// round alike so does the truth, and s itself. A double that far from the truth is also too coarse as the
// true value where E exceeds 2^-34 |s|.
template <bool Narrow>
void finish(FinishJob& job) {
  const Grid grid = grid_of(job.out);
  const double finest = job.out == DType::f16 ? 0x1p-34 : job.out == DType::bf16 ? 0x1p-143 : 0x1p-159;
  const Vec infinity = all(__builtin_inf());
  Bits open_interval{}, open_rest{};
  for (std::int64_t l = 0; l < job.n; l += kVector) {
    Vec s = load(job.sum + l), m = load(job.magnitude + l);
    if (job.has_bias) {
      const Vec bias = job.lane_bias ? load(job.lane_bias + l) : all(job.column_bias);
      s += bias;
      m += abs(bias);
    }
    const Vec error = m * job.error_per_s;
    const Vec lo = s - error, hi = s + error;
    const Vec fine = abs(s) * 0x1p-34;
    Bits decided = rounds_alike<Narrow>(lo, hi, grid) & ((error <= fine) | (error <= all(finest)));
    const Bits finite = m < infinity;
    decided &= finite;
    const Bits zero = m == all(0);
    Bits open = ~(decided | zero);
    if (job.check_zero_sign) open |= zero;
    for (std::int64_t i = job.n - l; i < kVector; ++i) open[i] = 0;  // beyond the row
    open_interval -= open;
    if (job.lane_quantum) {
      const Vec limit = load(job.lane_quantum + l) * job.column_quantum;
      open &= ~(m < limit) | zero | ~finite;
    }
    open_rest -= open;
    store(job.value + l, s);
    store(job.bound + l, m * job.inflate);
    if constexpr (Narrow)
      encode_vector(round_to_grid(s, grid), job.out, job.rounded + l);
    else
      encode_vector(s, job.out, job.rounded + l);
    for (int i = 0; i < kVector; ++i) job.open[l + i] = 0;
    if (any(open))
      for (int i = 0; i < kVector && l + i < job.n; ++i)
        job.open[l + i] = static_cast<std::uint8_t>(open[i] & 1);
  }
  job.open_by_interval = 0;
  job.still_open = 0;
  for (int i = 0; i < kVector; ++i) {
    job.open_by_interval += open_interval[i];
    job.still_open += open_rest[i];
  }
}

}  // namespace

void sum_panels(const SumJob& job) {
  const Bits sign = all_bits(INT64_MIN);
  for (int part = 0; part < kLaneWidth; part += 2 * kVector) {
    Vec sum[2][kColumnWidth], magnitude[2][kColumnWidth];
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < kColumnWidth; ++j) {
        sum[i][j] = (Vec)sign;
        magnitude[i][j] = Vec{};
      }
    const double* a = job.lanes + part;
    const double* b = job.columns;
    for (std::int64_t t = 0; t < job.terms; ++t, a += kLaneWidth, b += kColumnWidth) {
      const Vec a0 = load(a), a1 = load(a + kVector), m0 = abs(a0), m1 = abs(a1);
      for (int j = 0; j < kColumnWidth; ++j) {
        const Vec x = all(b[j]), y = abs(x);
        sum[0][j] = multiply_add(a0, x, sum[0][j]);
        sum[1][j] = multiply_add(a1, x, sum[1][j]);
        magnitude[0][j] = multiply_add(m0, y, magnitude[0][j]);
        magnitude[1][j] = multiply_add(m1, y, magnitude[1][j]);
      }
    }
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < kColumnWidth; ++j) {
        store(job.sum + j * job.stride + part + i * kVector, sum[i][j]);
        store(job.magnitude + j * job.stride + part + i * kVector, magnitude[i][j]);
      }
  }
}

void finish_row(FinishJob& job) {
  if (job.out == DType::f32)
    finish<false>(job);
  else
    finish<true>(job);
}

void lowest_bits(const QuantumJob& job) {
  const int width = job.width;
  for (std::int64_t t = 0; t < job.terms; ++t)
    for (int w = 0; w < width; ++w) {
      const double x = job.panel[t * width + w];
      std::int64_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      bits &= 0x7fffffffffffffff;
      // Clearing the lowest set bit of the significand subtracts exactly that power of two.
      const std::int64_t without = bits & (bits - 1);
      double magnitude, rest;
      std::memcpy(&magnitude, &bits, sizeof magnitude);
      std::memcpy(&rest, &without, sizeof rest);
      double lowest = (bits & 0xfffffffffffff) != 0 ? magnitude - rest : magnitude;
      lowest = bits == 0 ? __builtin_inf() : lowest;
      job.quantum[w] = lowest < job.quantum[w] ? lowest : job.quantum[w];
    }
}

}  // namespace ULPSCOPE_SIMD_LEVEL
}  // namespace ulpscope
