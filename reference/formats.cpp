#include "reference/formats.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr std::array<FormatInfo, 4> kFormats{{
    {"fp64", 53, -1022, 1023, 8},
    {"fp32", 24, -126, 127, 4},
    {"fp16", 11, -14, 15, 2},
    {"bf16", 8, -126, 127, 2},
}};

int significand_bits(const FormatInfo& f) {
  return f.precision - 1;
}
int exponent_bits(const FormatInfo& f) {
  return 8 * f.bytes - f.precision;
}

// Rounds a positive significand/2^shift to nearest even.
std::uint64_t shift_right_rne(std::uint64_t significand, int shift) {
  if (shift <= 0) return significand << -shift;
  if (shift > 63) return 0;  // below half of the smallest step: significands here have at most 53 bits
  const std::uint64_t kept = significand >> shift;
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = significand & ((half << 1) - 1);
  return kept + (rest > half || (rest == half && (kept & 1)));
}

}  // namespace

const FormatInfo& info(DType type) {
  return kFormats[static_cast<std::size_t>(type)];
}
int size_of(DType type) {
  return info(type).bytes;
}
const char* name_of(DType type) {
  return info(type).name;
}

DType parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kFormats.size(); ++i)
    if (name == kFormats[i].name) return static_cast<DType>(i);
  throw Error("unknown number format '" + std::string(name) + "': use fp64, fp32, fp16 or bf16");
}

std::uint64_t round_to_bits(DType type, double x) {
  const auto raw = std::bit_cast<std::uint64_t>(x);
  if (type == DType::f64) return std::isnan(x) ? std::uint64_t{0x7ff8} << 48 : raw;
  const FormatInfo& f = info(type);
  const int stored = significand_bits(f);
  const std::uint64_t sign = (raw >> 63) << (8 * f.bytes - 1);
  const std::uint64_t exponent_ones = ((std::uint64_t{1} << exponent_bits(f)) - 1) << stored;
  if (std::isnan(x)) return exponent_ones | std::uint64_t{1} << (stored - 1);
  if (std::isinf(x)) return sign | exponent_ones;
  const int biased = static_cast<int>(raw >> 52 & 0x7ff);
  if (biased == 0) return sign;  // zero, or a subnormal double: far below half of any narrower subnormal
  const std::uint64_t significand = (raw & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
  const int exponent = biased - 1023;
  // Below emin the grid stops shrinking. The rounded significand is *added* to the exponent field, so that a
  // carry out of it moves on to the next binade, from subnormal to normal, and from the largest finite number
  // to infinity.
  const int below = exponent < f.emin ? f.emin - exponent : 0;
  const std::uint64_t rounded = shift_right_rne(significand, 52 - stored + below);
  const std::uint64_t field = below > 0 ? 0
                                        : static_cast<std::uint64_t>(exponent - f.emin)
                                              << stored;  // (biased exponent - 1) << stored
  const std::uint64_t magnitude = field + rounded;
  return sign | (magnitude > exponent_ones ? exponent_ones : magnitude);
}

// Every narrow format is within fp32, whose own bits the processor reads; halves by a multiplication that is
// exact and turns their subnormals into normal numbers.
double value_of_bits(DType type, std::uint64_t bits) {
  switch (type) {
    case DType::f64:
      return std::bit_cast<double>(bits);
    case DType::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case DType::bf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    case DType::f16:
      break;
  }
  const auto half = static_cast<std::uint32_t>(bits);
  const std::uint32_t magnitude = (half & 0x7fffu) << 13, sign = (half & 0x8000u) << 16;
  if (magnitude >= 0x7c00u << 13)  // infinity and NaN: all exponent bits set in fp32, too
    return std::bit_cast<float>(sign | magnitude | 0x7f800000u);
  return std::copysign(std::bit_cast<float>(magnitude) * 0x1p112f, std::bit_cast<float>(sign));
}

double ulp_at(DType type, double x) {
  const FormatInfo& f = info(type);
  const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff);
  if (biased == 0x7ff || type == DType::f64) {
    const int exponent = x == 0 ? f.emin : std::ilogb(x);
    return std::ldexp(1.0, (exponent > f.emin ? exponent : f.emin) - (f.precision - 1));
  }
  const int exponent = std::max(biased - 1023, f.emin) - (f.precision - 1);  // far above a double's emin
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

std::uint64_t ordered_distance(DType type, std::uint64_t a, std::uint64_t b) {
  const int width = 8 * size_of(type);
  // Sign-magnitude to a line: +x -> 2^(w-1) + x, -x -> 2^(w-1) - x; both zeros share one point.
  auto line = [&](std::uint64_t v) {
    const std::uint64_t top = std::uint64_t{1} << (width - 1);
    return v & top ? top - (v & (top - 1)) : top + v;
  };
  const std::uint64_t la = line(a), lb = line(b);
  return la > lb ? la - lb : lb - la;
}

}  // namespace ulpscope
