#pragma once
// How an operand is shortened before it is multiplied.
//
// TF32's three roundings are what tells vendor paths apart (cuBLAS and newer cuDNN kernels: RNE; older cuDNN
// tensor kernels: RNA, as cvt.rna.tf32.f32; raw fp32 bits fed to mma: RZ, since the instruction ignores the
// low 13 bits).
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ulpscope {

enum class OperandFormat : std::uint8_t {
  fp32,
  fp64,
  tf32_rne,
  tf32_rna,
  tf32_rz,
  bf16,
  bf16_rz,
  fp16,
  fp8_e4m3,
  fp8_e5m2
};

struct OperandInfo {
  const char* name;  // as in plans
  int precision;     // significant bits, the hidden one included
  int emin;          // exponent of the smallest normal number
  double relative;   // largest relative error of shortening a normal number
  double absolute;   // largest error of shortening a number below 2^emin
  double largest;    // largest finite value; beyond it: infinity, or (fp8) saturation
};

const OperandInfo& info(OperandFormat format);
inline constexpr int kOperandFormats = 10;
/// Throws Error naming the choices.
OperandFormat parse_operand(std::string_view name);
bool is_operand_name(std::string_view name);

/// Shortens one value / n values in place. NaN stays NaN (but tf32_rz, raw bits fed to mma, leaves an
/// infinity of a NaN whose payload lies in the low 13 bits), infinities stay (fp8_e4m3, which has none,
/// saturates to 448; fp8_e5m2 to 57344, as cvt.satfinite does). fp32 and fp64 change nothing.
float shorten(OperandFormat format, float x);
void shorten(OperandFormat format, float* x, std::size_t n);

/// True if every value of format `narrow` is one of `wide` too: shortening to `wide` changes nothing there.
bool contains(OperandFormat wide, OperandFormat narrow);

}  // namespace ulpscope
