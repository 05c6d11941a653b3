// Blocks of outputs, eight at a time. GCC's vector types give the same code shape at both levels (one AVX2
// register or two SSE2 ones), and the same results: every operation is a single IEEE one.
#include <cstring>

#include "harness/measure_block.hpp"

namespace ulpscope::ULPSCOPE_SIMD_LEVEL {
namespace {

typedef double F64x4 __attribute__((vector_size(32)));
typedef long long I64x4 __attribute__((vector_size(32)));
typedef unsigned long long U64x4 __attribute__((vector_size(32)));
typedef int I32x8 __attribute__((vector_size(32)));

template <class V, class T>
inline __attribute__((always_inline)) void load(V& v, const T* p) {
  std::memcpy(&v, p, sizeof(V));
}
template <class V, class T>
inline __attribute__((always_inline)) void store(T* p, const V& v) {
  std::memcpy(p, &v, sizeof(V));
}
#define ULPSCOPE_MAX(a, b) ((a) > (b) ? (a) : (b))

constexpr int kAhead = 1024;  // outputs
constexpr double kInfinity = __builtin_inf();
constexpr long long kMagnitudeBits = 0x7fffffffffffffffll, kExponentBits = 0x7ff0000000000000ll;
constexpr int high_word(double x) {
  return static_cast<int>(__builtin_bit_cast(long long, x) >> 32);
}

struct Running {
  F64x4 max_abs = {}, max_magnitude = {};
  U64x4 sum = {}, sum_abs = {};  // of bit patterns, modulo 2^64
  I64x4 above = {};
  I32x8 max_high = {}, no_error = {};
};

// |error| in ULP of the output format at the true value r. 2^floor(log2 |r|) is r's exponent field alone, and
// 2^(precision-1) over that is a subtraction of fields.
inline __attribute__((always_inline)) void in_ulp(const F64x4& abs_e, const F64x4& r, const F64x4& min_normal,
                                                  unsigned long long inverse_bits, F64x4& ulp) {
  F64x4 power = (F64x4)((I64x4)r & kExponentBits);
  power = ULPSCOPE_MAX(power, min_normal);
  ulp = abs_e * (F64x4)(inverse_bits - (U64x4)power);
}
inline unsigned long long inverse_bits_of(int precision) {
  return static_cast<unsigned long long>(2046 + precision - 1) << 52;
}

// Vectors go by reference: by value they would depend on the instruction set's calling convention.
inline __attribute__((always_inline)) void quarter(const F64x4& min_normal, const F64x4& magic,
                                                   unsigned long long inverse_bits, const F64x4& threshold,
                                                   const float* candidate, const double* value,
                                                   const double* magnitude, const double* tile_threshold,
                                                   Running& run, F64x4& ulp) {
  F64x4 r, s, limit;
  load(r, value);
  load(s, magnitude);
  load(limit, tile_threshold);
  const F64x4 e = F64x4{candidate[0], candidate[1], candidate[2], candidate[3]} - r;
  const F64x4 abs_e = (F64x4)((I64x4)e & kMagnitudeBits);
  run.max_abs = ULPSCOPE_MAX(abs_e, run.max_abs);
  run.max_magnitude = ULPSCOPE_MAX(s, run.max_magnitude);
  run.sum += (U64x4)(e + magic);
  run.sum_abs += (U64x4)(abs_e + magic);
  limit = limit < threshold ? limit : threshold;
  run.above |= abs_e > limit * s;
  in_ulp(abs_e, r, min_normal, inverse_bits, ulp);
}

inline double max_of(const F64x4& v) {
  double m = v[0];
  for (int i = 1; i < 4; ++i) m = v[i] > m ? v[i] : m;
  return m;
}

std::int64_t count_equal(const std::uint32_t* x, const std::uint32_t* y, int n) {
  I32x8 equal = {};
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    I32x8 a, b;
    load(a, x + i);
    load(b, y + i);
    equal -= a == b;
  }
  std::int64_t total = 0;
  for (int k = 0; k < 8; ++k) total += equal[k];
  for (; i < n; ++i) total += x[i] == y[i];
  return total;
}

}  // namespace

void scan_block(const MeasureScale& k, const BlockInput& in, const double* tile_threshold, int position,
                double threshold_value, BlockScan& out) {
  Running run;
  const F64x4 zero = {};
  const F64x4 min_normal = zero + k.min_normal, magic = zero + k.sum_magic,
              threshold = zero + threshold_value;
  const unsigned long long inverse_bits = inverse_bits_of(k.precision);
  constexpr double kLowest = 1.0 / (1 << -kUlpMinExp) * (1 - 0x1p-7), kHighest = 0x1p300;
  static_assert(kUlpMaxExp == 300);
  const I32x8 lowest = I32x8{} + high_word(kLowest), highest = I32x8{} + high_word(kHighest);
  int at = position & (kTile - 1);
  auto eight = [&](const float* c, const double* r, const double* s, std::uint32_t* bin)
      __attribute__((always_inline)) {
    F64x4 u0, u1;
    quarter(min_normal, magic, inverse_bits, threshold, c, r, s, tile_threshold + at, run, u0);
    at = (at + 4) & (kTile - 1);
    quarter(min_normal, magic, inverse_bits, threshold, c + 4, r + 4, s + 4, tile_threshold + at, run, u1);
    at = (at + 4) & (kTile - 1);
    // The high halves of eight doubles, in some order: it is their exponents and leading fraction bits that
    // choose a bin, and as integers they compare like the doubles.
    I32x8 high = __builtin_shufflevector((I32x8)((I64x4)u0 >> 32), (I32x8)u1, 0, 9, 2, 11, 4, 13, 6, 15);
    run.max_high = ULPSCOPE_MAX(high, run.max_high);
    run.no_error -= high == 0;
    high = ULPSCOPE_MAX(high, lowest);
    high = high < highest ? high : highest;
    high = (high >> 14) - static_cast<int>(kFirstBin);
    store(bin, high);
  };
  const int whole = in.n & ~7;
  for (int i = 0; i < whole; i += 8) {
    // The streams restart at every page for the hardware's prefetcher; far ahead, it is this that crosses
    // them.
    __builtin_prefetch(in.value + i + kAhead);
    __builtin_prefetch(in.magnitude + i + kAhead);
    if (i % 16 == 0) {
      __builtin_prefetch(in.candidate + i + kAhead);
      if (in.rounded) __builtin_prefetch(in.rounded + i + kAhead);
    }
    eight(in.candidate + i, in.value + i, in.magnitude + i, out.bin + i);
  }
  int padding = 0;
  if (whole <
      in.n) {  // the tail, padded with outputs that have no error; bins of eight come in another order,
    float c[8] = {};  // so the padded ones are told by being in the bin of zeros
    double r[8] = {}, s[8] = {};
    std::uint32_t bin[8];
    for (int i = whole; i < in.n; ++i) {
      c[i - whole] = in.candidate[i];
      r[i - whole] = in.value[i];
      s[i - whole] = in.magnitude[i];
    }
    eight(c, r, s, bin);
    padding = whole + 8 - in.n;
    const std::uint32_t zero_bin = 1;  // where zeros are counted at first
    int left = padding;
    std::uint32_t* target = out.bin + whole;
    for (const std::uint32_t b : bin) {
      if (left > 0 && b == zero_bin) {
        --left;
      } else {
        *target++ = b;
      }
    }
  }
  // What the additions of magic itself left in the sums is taken out again; modulo 2^64 that is exact.
  const std::uint64_t offset =
      static_cast<std::uint64_t>(in.n + padding) * __builtin_bit_cast(std::uint64_t, k.sum_magic);
  auto total = [offset](const U64x4& v) {
    return static_cast<std::int64_t>(v[0] + v[1] + v[2] + v[3] - offset);
  };
  out.sum = total(run.sum);
  out.sum_abs = total(run.sum_abs);
  out.max_abs = max_of(run.max_abs);
  out.max_magnitude = max_of(run.max_magnitude);
  out.above_threshold = (run.above[0] | run.above[1] | run.above[2] | run.above[3]) != 0;
  out.max_ulp_high = 0;
  out.no_error = -padding;
  for (int i = 0; i < 8; ++i) {
    const auto high = static_cast<std::uint32_t>(run.max_high[i]);
    out.max_ulp_high = ULPSCOPE_MAX(high, out.max_ulp_high);
    out.no_error += run.no_error[i];
  }
  out.equal_bits = in.rounded ? count_equal(in.bits, in.rounded, in.n) : 0;
}

void detail_block(const MeasureScale& k, const BlockInput& in, BlockDetail& out) {
  const unsigned long long inverse_bits = inverse_bits_of(k.precision);
  double max_ulp = 0, max_headroom = 0;
  std::int64_t within = 0, bounded = 0;
  for (int i = 0; i < in.n; ++i) {
    const double r = in.value[i], s = in.magnitude[i];
    const double e = __builtin_fabs(static_cast<double>(in.candidate[i]) - r);
    out.error[i] = e;
    out.scaled[i] = e > 0 ? e / s : 0;
    double power = __builtin_bit_cast(double, __builtin_bit_cast(long long, r) & kExponentBits);
    power = ULPSCOPE_MAX(power, k.min_normal);
    const double ulp =
        e * __builtin_bit_cast(double, inverse_bits - __builtin_bit_cast(unsigned long long, power));
    max_ulp = ULPSCOPE_MAX(ulp, max_ulp);
    const bool has_bound = s < k.overflow_s;
    const double bound = has_bound ? s * k.per_s + k.absolute : kInfinity;
    const double headroom = e > 0 ? e / bound : 0;
    max_headroom = ULPSCOPE_MAX(headroom, max_headroom);
    within += e <= bound;
    bounded += has_bound;
  }
  out.max_ulp = max_ulp;
  out.max_headroom = max_headroom;
  out.beyond_bound = in.n - within;
  out.unbounded = in.n - bounded;
}

// Four a turn from two loads: the counters, not the loop, are the limit.
void count_bins(const std::uint32_t* bin, int n, std::int64_t* counts) {
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    std::uint64_t first, second;
    load(first, bin + i);
    load(second, bin + i + 2);
    ++counts[static_cast<std::uint32_t>(first)];
    ++counts[first >> 32];
    ++counts[static_cast<std::uint32_t>(second)];
    ++counts[second >> 32];
  }
  for (; i < n; ++i) ++counts[bin[i]];
}

std::int64_t count_violations(const MeasureScale& k, const BlockInput& in) {
  std::int64_t agreeing = 0;
  for (int i = 0; i < in.n; ++i) {
    const double r = in.value[i], e = static_cast<double>(in.candidate[i]) - r;
    agreeing += __builtin_fabs(e) <= k.atol + k.rtol * __builtin_fabs(r);
  }
  return in.n - agreeing;
}

std::int64_t count_zero_signs(const MeasureScale& k, const BlockInput& in) {
  std::int64_t found = 0;
  for (int i = 0; i < in.n; ++i)  // one is +0, the other -0
    found += ((in.bits[i] & in.rounded[i]) == 0) & ((in.bits[i] | in.rounded[i]) == k.minus_zero);
  return found;
}

void decode_bf16(const std::uint16_t* bits, int n, float* value, std::uint32_t* wide) {
  for (int i = 0; i < n; ++i) {
    wide[i] = bits[i];
    value[i] = __builtin_bit_cast(float, static_cast<std::uint32_t>(bits[i]) << 16);
  }
}

void decode_fp16(const std::uint16_t* bits, int n, float* value, std::uint32_t* wide) {
  for (int i = 0; i < n; ++i) {
    const std::uint32_t h = bits[i];
    wide[i] = h;
    // Exponent and fraction moved into place, then rescaled by 2^(127-15): exact, subnormals included. An
    // all-ones exponent must become fp32's instead.
    const std::uint32_t moved = (h & 0x7fffu) << 13;
    const float scaled = __builtin_bit_cast(float, moved) * 0x1p112f;
    const std::uint32_t special = moved | 0x7f800000u;
    const std::uint32_t u = (h & 0x7c00u) == 0x7c00u ? special : __builtin_bit_cast(std::uint32_t, scaled);
    value[i] = __builtin_bit_cast(float, u | (h & 0x8000u) << 16);
  }
}

}  // namespace ulpscope::ULPSCOPE_SIMD_LEVEL
