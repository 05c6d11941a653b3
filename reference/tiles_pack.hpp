#pragma once
// The packing loops of reference/tiles.hpp, compiled per instruction-set level. Plain pointers only (see
// simd.hpp).
//
// A coupled axis reads A at coordinate (o_mul*o + r_mul*r + offset) / divisor. Split once per position and
// once per term, so that no division is left inside:
//   o_mul*o + offset = divisor*q + s, 0 <= s < divisor      (position: quotient q, residue s)
//   r_mul*r          = divisor*p - t, 0 <= t < divisor      (term: quotient p, residue t)
// The tap exists iff s == t and 0 <= q + p < extent; its coordinate is q + p. Addresses add up likewise.
#include <cstdint>

#include "reference/formats.hpp"

namespace ulpscope {

struct PackJob {
  const void* source = nullptr;
  DType dtype = DType::f32;
  // positions (lanes or columns)
  std::int64_t positions = 0;
  const std::int64_t* address = nullptr;
  const std::int64_t* quotient[3] = {};
  const std::int64_t* residue[3] = {};
  // terms
  std::int64_t terms = 0;
  const std::int64_t* term_address = nullptr;
  const std::int64_t* term_quotient[3] = {};
  const std::int64_t* term_residue[3] = {};
  int coupled = 0;
  std::int64_t extent[3] = {};
  // stretches of positions with evenly spaced addresses and coordinates
  std::int64_t runs = 0;
  const std::int64_t* run = nullptr;  // per run: first, length, address step, coordinate steps [3]
  // destination: [ceil(positions/width)][terms][width] of float or double
  int width = 0;
  void* destination = nullptr;
  std::uint8_t* valid = nullptr;  // may be null
  void* row = nullptr;            // scratch: positions rounded up to width, as doubles, and as many bytes
};

inline constexpr int kRunFields = 6;

namespace simd_base {
void pack_float(const PackJob& job);
void pack_double(const PackJob& job);
}  // namespace simd_base
namespace simd_v3 {
void pack_float(const PackJob& job);
void pack_double(const PackJob& job);
}  // namespace simd_v3

}  // namespace ulpscope
