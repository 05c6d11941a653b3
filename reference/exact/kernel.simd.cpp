#include "reference/exact/kernel.hpp"

#include <cstring>
#if defined(__SSE2__)
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
typedef std::uint64_t Unsigned __attribute__((vector_size(kVector * 8)));  // wraps on infinities

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
inline Vec both(Vec v, Vec mask) {
#if defined(__AVX2__)
  return (Vec)_mm256_and_pd((__m256d)v, (__m256d)mask);
#else
  return (Vec)((Bits)v & (Bits)mask);
#endif
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
  const Vec magic = (Vec)((Bits)((Unsigned)exponent + (Unsigned)grid.shift) | all_bits(0x0008000000000000));
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

template <bool Narrow>
inline void encode_vector(Vec x, DType type, std::uint32_t* out) {
#if defined(__AVX2__)
  if constexpr (!Narrow) {
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
template <bool Narrow, bool Bias, bool Quantum>
void finish(FinishJob& out) {
  const FinishJob job = out;  // a copy that no store below can alias
  const Grid grid = grid_of(job.out);
  const Vec finest = all(job.out == DType::f16 ? 0x1p-34 : job.out == DType::bf16 ? 0x1p-143 : 0x1p-159);
  const Vec infinity = all(__builtin_inf()), error_per_s = all(job.error_per_s), inflate = all(job.inflate);
  const Bits zeros_open = all_bits(job.check_zero_sign ? -1 : 0);
  Bits open_interval{}, open_rest{};
  auto step = [&](std::int64_t l, Bits within) __attribute__((always_inline)) {
    Vec s = load(job.sum + l), m = load(job.magnitude + l);
    if constexpr (Bias) {
      const Vec bias = job.lane_bias ? load(job.lane_bias + l) : all(job.column_bias);
      s += bias;
      m += abs(bias);
    }
    const Vec error = m * error_per_s;
    const Bits finite = m < infinity, zero = m == Vec{};
    const Bits precise = (error <= abs(s) * 0x1p-34) | (error <= finest);
    const Bits decided = rounds_alike<Narrow>(s - error, s + error, grid) & precise & finite;
    Bits open = (~(decided | zero) | (zero & zeros_open)) & within;
    open_interval -= open;
    if constexpr (Quantum) {
      const Vec limit = load(job.lane_quantum + l) * job.column_quantum;
      open &= ~(m < limit) | zero | ~finite;
      open_rest -= open;
    }
    store(job.value + l, s);
    store(job.bound + l, m * inflate);
    encode_vector<Narrow>(Narrow ? round_to_grid(s, grid) : s, job.out, job.rounded + l);
    std::memset(job.open + l, 0, kVector);
    if (any(open))
      for (int i = 0; i < kVector; ++i) job.open[l + i] = static_cast<std::uint8_t>(open[i] & 1);
  };
  std::int64_t l = 0;
  for (; l + kVector <= job.n; l += kVector) step(l, all_bits(-1));
  if (l < job.n) {
    Bits within{};
    for (std::int64_t i = 0; i < job.n - l; ++i) within[i] = -1;
    step(l, within);
  }
  out.open_by_interval = out.still_open = 0;
  for (int i = 0; i < kVector; ++i) {
    out.open_by_interval += open_interval[i];
    out.still_open += Quantum ? open_rest[i] : open_interval[i];
  }
}

template <bool Narrow>
void finish_as(FinishJob& job) {
  if (job.has_bias)
    job.lane_quantum ? finish<Narrow, true, true>(job) : finish<Narrow, true, false>(job);
  else
    job.lane_quantum ? finish<Narrow, false, true>(job) : finish<Narrow, false, false>(job);
}

}  // namespace

// 12 accumulators, |a| twice, one b at a time and the mask: 16 registers, with not one to spare. A spilled
// accumulator would put a store and a load on the critical path, so the order below is kept: both sums of a
// column, then b turns into |b| in place.
void sum_panels(const SumJob& job) {
  const std::int64_t stride = job.stride;
  for (int part = 0; part < kLaneWidth; part += 2 * kVector) {
    const double* a = job.lanes + part;
    const double* b = job.columns;
    const Vec mask = (Vec)all_bits(INT64_MAX);
    Vec s00 = -Vec{}, s01 = s00, s02 = s00, s10 = s00, s11 = s00, s12 = s00;
    Vec m00{}, m01{}, m02{}, m10{}, m11{}, m12{};
    for (std::int64_t t = job.terms; t > 0; --t, a += kLaneWidth, b += kColumnWidth) {
      const Vec a0 = both(load(a), mask), a1 = both(load(a + kVector), mask);
      auto column = [&](double y, Vec& s0, Vec& s1, Vec& m0, Vec& m1) __attribute__((always_inline)) {
        Vec x = all(y);
        s0 = multiply_add(load(a), x, s0);
        s1 = multiply_add(load(a + kVector), x, s1);
        __asm__("" : "+x"(x), "+x"(s0), "+x"(s1));
        x = both(x, mask);
        m0 = multiply_add(a0, x, m0);
        m1 = multiply_add(a1, x, m1);
      };
      column(b[0], s00, s10, m00, m10);
      column(b[1], s01, s11, m01, m11);
      column(b[2], s02, s12, m02, m12);
    }
    double* sum = job.sum + part;
    double* magnitude = job.magnitude + part;
    auto put = [&](int column, Vec s0, Vec s1, Vec m0, Vec m1) {
      store(sum + column * stride, s0);
      store(sum + column * stride + kVector, s1);
      store(magnitude + column * stride, m0);
      store(magnitude + column * stride + kVector, m1);
    };
    put(0, s00, s10, m00, m10);
    put(1, s01, s11, m01, m11);
    put(2, s02, s12, m02, m12);
  }
}

void compensate_panels(const CompensateJob& job) {
  for (int part = 0; part < kLaneWidth; part += 2 * kVector)
    for (int column = 0; column < kColumnWidth; ++column) {
      const double* a = job.lanes + part;
      const double* b = job.columns + column;
      Vec s0{}, s1{}, e0{}, e1{};
      for (std::int64_t t = job.terms; t > 0; --t, a += kLaneWidth, b += kColumnWidth) {
        const Vec y = all(*b), p0 = load(a) * y, p1 = load(a + kVector) * y;
        const Vec t0 = s0 + p0, t1 = s1 + p1, z0 = t0 - s0, z1 = t1 - s1;
        e0 += (s0 - (t0 - z0)) + (p0 - z0);
        e1 += (s1 - (t1 - z1)) + (p1 - z1);
        s0 = t0;
        s1 = t1;
      }
      double* sum = job.sum + column * job.stride + part;
      double* error = job.magnitude + column * job.stride + part;
      store(sum, s0);
      store(sum + kVector, s1);
      store(error, e0);
      store(error + kVector, e1);
    }
}

void copy_past_caches(void* to, const void* from, std::size_t bytes) {
  auto* d = static_cast<unsigned char*>(to);
  const auto* s = static_cast<const unsigned char*>(from);
#if defined(__SSE2__)
  const std::size_t head = (16 - reinterpret_cast<std::uintptr_t>(d) % 16) % 16;
  if (bytes >= 64 + head) {
    std::memcpy(d, s, head);
    d += head;
    s += head;
    bytes -= head;
    for (; bytes >= 16; bytes -= 16, d += 16, s += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(d), _mm_loadu_si128(reinterpret_cast<const __m128i*>(s)));
    _mm_sfence();
  }
#endif
  std::memcpy(d, s, bytes);
}

void finish_row(FinishJob& job) {
  if (job.out == DType::f32)
    finish_as<false>(job);
  else
    finish_as<true>(job);
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
