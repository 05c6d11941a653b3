#pragma once
// Binary floating-point formats: one table, and conversions that round once, to nearest even unless they say
// otherwise.
#include <cstdint>
#include <string>
#include <string_view>

namespace ulpscope {

/// Storage formats of tensors.
enum class DType : std::uint8_t { f64, f32, f16, bf16 };

/// A binary format: `precision` significant bits (hidden one included), normal exponents emin..emax.
struct FormatInfo {
  const char* name;  // "fp32", "bf16", ... as in plans and JSON
  int precision;     // p
  int emin;          // exponent of the smallest normal number
  int emax;          // exponent of the largest finite number
  int bytes;         // storage
};

const FormatInfo& info(DType type);
int size_of(DType type);
const char* name_of(DType type);           // "fp64", "fp32", "fp16", "bf16"
DType parse_dtype(std::string_view name);  // throws Error naming the choices

/// Rounds x once, to nearest even, to `type`; returns the bits, right-aligned. Subnormals, overflow to
/// infinity and the sign of zero as in IEEE 754; NaN becomes the canonical quiet NaN.
std::uint64_t round_to_bits(DType type, double x);

/// The value of right-aligned bits of `type`; exact, since every format here is a subset of double.
double value_of_bits(DType type, std::uint64_t bits);

/// ulp(x) of `type` at the real value |x| > 0: 2^(max(floor(log2|x|), emin) - (precision-1)).
double ulp_at(DType type, double x);

/// Distance between two bit patterns of `type` in ordered integers, monotone through +-0 (both zeros are 0
/// apart).
std::uint64_t ordered_distance(DType type, std::uint64_t a, std::uint64_t b);

}  // namespace ulpscope
