#include "reference/arithmetic/operand.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr double kFloatMax = 0x1.fffffep127;
constexpr std::array<OperandInfo, kOperandFormats> kInfo{{
    {"fp32", 24, -126, 0, 0, kFloatMax},
    {"fp64", 53, -1022, 0, 0, 0x1.fffffffffffffp1023},
    {"tf32_rne", 11, -126, 0x1p-11, 0x1p-137, kFloatMax},
    {"tf32_rna", 11, -126, 0x1p-11, 0x1p-137, kFloatMax},
    {"tf32_rz", 11, -126, 0x1p-10, 0x1p-136, kFloatMax},
    {"bf16", 8, -126, 0x1p-8, 0x1p-134, kFloatMax},
    {"bf16_rz", 8, -126, 0x1p-7, 0x1p-133, kFloatMax},
    {"fp16", 11, -14, 0x1p-11, 0x1p-25, 65504},
    {"fp8_e4m3", 4, -6, 0x1p-4, 0x1p-10, 448},
    {"fp8_e5m2", 3, -14, 0x1p-3, 0x1p-17, 57344},
}};

bool finite_bits(std::uint32_t u) {
  return (u & 0x7fffffffu) < 0x7f800000u;
}

// Rounds away the low `drop` bits of a float's pattern; a carry runs into the exponent, up to infinity.
std::uint32_t nearest_even(std::uint32_t u, int drop) {
  const std::uint32_t half = (1u << (drop - 1)) - 1;
  return (u + half + ((u >> drop) & 1)) & ~((1u << drop) - 1);
}

// To nearest even on a grid of `precision` bits that stops shrinking at emin; a carry past a float's range is
// infinity. Bits and one addition: searches shorten operands by the million.
float on_grid(float x, int precision, int emin) {
  const auto u = std::bit_cast<std::uint32_t>(x);
  if ((u & 0x7fffffffu) >= static_cast<std::uint32_t>(emin + 127) << 23)
    return std::bit_cast<float>(nearest_even(u, 24 - precision));
  // A number whose last place is the grid's step: the sum is rounded there, ties to even.
  const float step = std::bit_cast<float>(static_cast<std::uint32_t>(emin - precision + 1 + 23 + 127) << 23);
  return std::copysign((std::fabs(x) + step) - step, x);
}

float saturating(float x, const OperandInfo& f) {
  if (std::isnan(x)) return x;
  const auto largest = static_cast<float>(f.largest);
  if (std::isinf(x)) return std::copysign(largest, x);
  const float r = on_grid(x, f.precision, f.emin);
  return std::fabs(r) > largest ? std::copysign(largest, r) : r;
}

float to_fp16(float x) {
  if (!std::isfinite(x)) return x;
  const float r = on_grid(x, 11, -14);
  return std::fabs(r) > 65504 ? std::copysign(HUGE_VALF, r) : r;
}

template <class F>
float on_bits(float x, F f) {
  const auto u = std::bit_cast<std::uint32_t>(x);
  return finite_bits(u) ? std::bit_cast<float>(f(u)) : x;
}

// Calls use(rule), where rule(x) is x shortened; not at all where nothing changes.
template <class Use>
void with_rule(OperandFormat format, Use use) {
  switch (format) {
    case OperandFormat::fp32:
    case OperandFormat::fp64:
      return;
    case OperandFormat::tf32_rne:
      return use([](float v) { return on_bits(v, [](auto u) { return nearest_even(u, 13); }); });
    case OperandFormat::tf32_rna:
      return use([](float v) { return on_bits(v, [](auto u) { return (u + 0x1000u) & ~0x1fffu; }); });
    case OperandFormat::tf32_rz:  // the instruction drops bits of anything: a NaN may lose its payload
      return use([](float v) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) & ~0x1fffu); });
    case OperandFormat::bf16:
      return use([](float v) { return on_bits(v, [](auto u) { return nearest_even(u, 16); }); });
    case OperandFormat::bf16_rz:
      return use([](float v) { return on_bits(v, [](auto u) { return u & 0xffff0000u; }); });
    case OperandFormat::fp16:
      return use(to_fp16);
    case OperandFormat::fp8_e4m3:
    case OperandFormat::fp8_e5m2:
      return use([&f = kInfo[static_cast<std::size_t>(format)]](float v) { return saturating(v, f); });
  }
}

}  // namespace

const OperandInfo& info(OperandFormat format) {
  return kInfo[static_cast<std::size_t>(format)];
}

bool is_operand_name(std::string_view name) {
  for (const OperandInfo& f : kInfo)
    if (name == f.name) return true;
  return false;
}

OperandFormat parse_operand(std::string_view name) {
  std::string choices;
  for (std::size_t i = 0; i < kInfo.size(); ++i) {
    if (name == kInfo[i].name) return static_cast<OperandFormat>(i);
    choices += (i ? ", " : "") + std::string(kInfo[i].name);
  }
  throw Error("unknown operand format '" + std::string(name) + "': use one of " + choices);
}

void shorten(OperandFormat format, float* x, std::size_t n) {
  with_rule(format, [&](auto rule) {
    for (std::size_t i = 0; i < n; ++i) x[i] = rule(x[i]);
  });
}

float shorten(OperandFormat format, float x) {
  with_rule(format, [&](auto rule) { x = rule(x); });
  return x;
}

bool contains(OperandFormat wide, OperandFormat narrow) {
  const OperandInfo &w = info(wide), &n = info(narrow);
  // The exponent of the last place of a subnormal is emin - (precision - 1).
  return w.precision >= n.precision && w.emin - w.precision <= n.emin - n.precision && w.largest >= n.largest;
}

}  // namespace ulpscope
