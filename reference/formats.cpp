#include "reference/formats.hpp"

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

double value_of_bits(DType type, std::uint64_t bits) {
  if (type == DType::f64) return std::bit_cast<double>(bits);
  const FormatInfo& f = info(type);
  const int stored = significand_bits(f);
  const bool negative = bits >> (8 * f.bytes - 1) & 1;
  const auto biased = static_cast<int>(bits >> stored & ((1u << exponent_bits(f)) - 1));
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << stored) - 1);
  double magnitude;
  if (biased == (1 << exponent_bits(f)) - 1) {
    magnitude = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (biased == 0) {
    magnitude = std::ldexp(static_cast<double>(fraction), f.emin - stored);
  } else {
    magnitude =
        std::ldexp(static_cast<double>(fraction | std::uint64_t{1} << stored), biased - 1 + f.emin - stored);
  }
  return negative ? -magnitude : magnitude;
}

double ulp_at(DType type, double x) {
  const FormatInfo& f = info(type);
  const int exponent = x == 0 ? f.emin : std::ilogb(x);
  return std::ldexp(1.0, (exponent > f.emin ? exponent : f.emin) - (f.precision - 1));
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
