#pragma once
// The vector loops of the exact sum, compiled per instruction-set level; plain pointers only (see simd.hpp).
// Both levels give the same bits: products are exact in fp64, so a fused and an unfused multiply-add round
// alike.
#include <cstddef>
#include <cstdint>

#include "reference/formats.hpp"

namespace ulpscope {

inline constexpr int kLaneWidth = 8;  // lanes of one panel
inline constexpr int kColumnWidth =
    3;  // columns of one panel: 2 x 3 vectors each for sum and S fill the registers
inline constexpr int kChunkTerms = 256;      // terms added one after another into one accumulator
inline constexpr int kSegmentTerms = 65536;  // chunks of a segment are added in order, then the segments

/// Panels [terms][kLaneWidth] and [terms][kColumnWidth] -> sum and S of every pair, [kColumnWidth] rows that
/// lie `stride` apart. The sum starts from -0, so it is -0 iff every product is.
struct SumJob {
  const double* lanes;
  const double* columns;
  std::int64_t terms;
  double* sum;
  double* magnitude;
  std::int64_t stride;
};

/// The same panels summed with TwoSum, column by column: sum + magnitude (which holds the errors here) is the
/// sum of the products but for the rounding of the errors' own additions. About 4 times the work of SumJob.
using CompensateJob = SumJob;

/// A row of fp64 sums -> results and what remains open.
struct FinishJob {
  std::int64_t n = 0;  // rounded up to a multiple of 4 inside; arrays must have room
  const double* sum = nullptr;
  const double* magnitude = nullptr;
  const double* lane_bias = nullptr;  // one per lane; null: column_bias for all
  double column_bias = 0;
  bool has_bias = false;
  double error_per_s =
      0;               // |sum - truth| <= error_per_s * magnitude, with room for the interval's own rounding
  double inflate = 1;  // magnitude * inflate is an upper bound of the true S
  DType out = DType::f32;
  bool check_zero_sign = false;  // padding took part as zeros: where S = 0 only the terms tell the sign
  // Exactness rule, where given: every product in lane l is a multiple of lane_quantum[l] * column_quantum.
  const double* lane_quantum = nullptr;
  double column_quantum = 0;
  // results
  double* value = nullptr;
  double* bound = nullptr;  // the inflated S
  std::uint32_t* rounded = nullptr;
  std::uint8_t* open = nullptr;  // per lane: 1 if undecided
  std::int64_t open_by_interval = 0, still_open = 0;
};

/// Smallest power of two in the significands of each of `width` positions of a panel [terms][width]: every
/// entry is a multiple of quantum[w] (+inf if all are zero). Takes the minimum with what quantum holds
/// already.
struct QuantumJob {
  const double* panel;
  std::int64_t terms;
  int width;
  double* quantum;
};

/// memcpy that writes past the caches: for results that together exceed them, reading the old contents of a
/// line before overwriting it would double the traffic.
namespace simd_base {
void copy_past_caches(void* to, const void* from, std::size_t bytes);
void sum_panels(const SumJob& job);
void compensate_panels(const CompensateJob& job);
void finish_row(FinishJob& job);
void lowest_bits(const QuantumJob& job);
}  // namespace simd_base
namespace simd_v3 {
void copy_past_caches(void* to, const void* from, std::size_t bytes);
void sum_panels(const SumJob& job);
void compensate_panels(const CompensateJob& job);
void finish_row(FinishJob& job);
void lowest_bits(const QuantumJob& job);
}  // namespace simd_v3

}  // namespace ulpscope
