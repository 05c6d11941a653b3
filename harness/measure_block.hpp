#pragma once
// The hot part of measuring, one block of outputs at a time: compiled once per instruction set
// (measure.simd.cpp), so it holds plain data only.
//
// Every output goes through scan_block, which is kept to what must be done for each: sums, histogram,
// comparison of bits, and a test against thresholds. Only a block that could raise a maximum, violate a bound
// or a tolerance is looked at again (detail_block, count_*), with divisions. As maxima settle, such blocks
// become rare.
#include <cstdint>

namespace ulpscope {

inline constexpr int kMeasureBlock = 512;  // outputs; its working set stays in the first-level cache
inline constexpr int kTile = 64;           // positions are told apart modulo this

// The histogram of |ULP|: bin 0 holds exact zeros, bin 1 everything in (0, 2^kUlpMinExp), then 64 bins an
// octave, and the last bin everything from 2^kUlpMaxExp on. fp32 can reach 2^277 (largest float against
// 2^-149).
inline constexpr int kUlpMinExp = -20, kUlpMaxExp = 300, kUlpPerOctave = 64;
inline constexpr int kUlpBins = (kUlpMaxExp - kUlpMinExp) * kUlpPerOctave + 3;

/// What is the same for all blocks of one measurement.
struct MeasureScale {
  double min_normal = 0;                           // 2^emin of the output format
  int precision = 24;                              // its significant bits
  std::uint32_t minus_zero = 0x80000000u;          // its bits of -0, right-aligned
  double per_s = 0, absolute = 0, overflow_s = 0;  // bound = per_s * S + absolute where S < overflow_s
  double atol = 0, rtol = 0;
  double sum_magic = 0;  // 1.5 * 2^52 quanta: adding it rounds an error to a whole number of quanta
};

/// A block of outputs. Arrays have `n` entries, n <= kMeasureBlock.
struct BlockInput {
  const float* candidate;        // every output format but fp64 embeds in fp32
  const std::uint32_t* bits;     // the candidate's bits in the output format, right-aligned
  const std::uint32_t* rounded;  // those of the correctly rounded true value; null: not compared
  const double* value;           // true values
  const double* magnitude;       // S
  int n;
};

struct BlockScan {
  std::int64_t sum,
      sum_abs;  // of errors and their magnitudes in whole quanta; valid if max_abs < 2^51 quanta
  double max_abs, max_magnitude;
  std::uint32_t max_ulp_high;  // high half of the largest |ULP| as a double; >= kNotFinite: a NaN or infinity
  bool above_threshold;        // some |error| > threshold * S
  std::int64_t equal_bits, no_error;
  std::uint32_t bin[kMeasureBlock];  // of every output; zeros lie in bin 1 here
};
inline constexpr std::uint32_t kNotFinite = 0x7ff00000u;
// A bin is a double's exponent and six leading fraction bits, less this.
inline constexpr std::uint32_t kFirstBin = (kUlpMinExp + 1023) * kUlpPerOctave - 2;

struct BlockDetail {  // of a block whose candidates and true values are all finite
  double max_ulp, max_headroom;
  std::int64_t beyond_bound, unbounded;
  double error[kMeasureBlock];  // |candidate - value|
  double
      scaled[kMeasureBlock];  // error / S: 0 where there is no error, infinite where there is one and S = 0
};

#define ULPSCOPE_MEASURE_KERNELS                                                                           \
  /* `tile_threshold[(position + i) mod kTile]` and `threshold`, whichever is less, limit |error| / S; the \
   */                                                                                                      \
  /* array holds the kTile entries twice over. */                                                          \
  void scan_block(const MeasureScale& scale, const BlockInput& in, const double* tile_threshold,           \
                  int position, double threshold, BlockScan& out);                                         \
  void detail_block(const MeasureScale& scale, const BlockInput& in, BlockDetail& out);                    \
  void count_bins(const std::uint32_t* bin, int n, std::int64_t* counts);                                  \
  std::int64_t count_violations(const MeasureScale& scale, const BlockInput& in);                          \
  std::int64_t count_zero_signs(const MeasureScale& scale, const BlockInput& in);                          \
  void decode_bf16(const std::uint16_t* bits, int n, float* value, std::uint32_t* wide);                   \
  void decode_fp16(const std::uint16_t* bits, int n, float* value, std::uint32_t* wide);

namespace simd_base {
ULPSCOPE_MEASURE_KERNELS
}
namespace simd_v3 {
ULPSCOPE_MEASURE_KERNELS
}
#undef ULPSCOPE_MEASURE_KERNELS

}  // namespace ulpscope
