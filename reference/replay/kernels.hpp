#pragma once
// The inner loops of replay: one chain of a program, for a small block of outputs at once. Plain pointers
// only (simd.hpp).
//
// A block is kLanes x columns outputs, columns being kColumns or 1 (both template widths of one loop). Panels
// hold one row per place: lanes [n][kLanes], columns [n][columns]. Accumulators are [columns][kLanes].
#include <cstdint>

namespace ulpscope {

inline constexpr int kLanes = 16, kColumns = 6;

/// Exponents beside panels of block arithmetic: floor(log2|x|) (of subnormals: emin), or one of these.
inline constexpr std::int32_t kZeroExponent = -4000, kSpecialExponent = 16000;

struct ChainJob {
  std::int64_t n = 0;  // places; for block steps a multiple of `terms`
  int columns = kColumns;
  const float* lanes = nullptr;
  const float* column = nullptr;
  float* acc = nullptr;
  float* compensation = nullptr;  // kahan
  // block steps
  const std::int32_t* lane_exponent = nullptr;
  const std::int32_t* column_exponent = nullptr;
  int terms = 8, frac = 25, floor = -133;
  /// One step for one output, exactly: a[0..terms) and b[0..terms) -> new accumulator.
  float (*exact_step)(const void* context, const float* a, const float* b, float acc) = nullptr;
  const void* context = nullptr;
};

/// Accumulators and one addend per lane in double.
struct WideJob {
  std::int64_t n = 0;
  int columns = kColumns;
  const float* lanes = nullptr;
  const float* column = nullptr;
  const double* lanes64 = nullptr;  // fp64 operands instead
  const double* column64 = nullptr;
  double* acc = nullptr;
};

/// What the fast block loop takes: F <= 25, L in {4, 8, 16, 32}, RZ to fp32 with all its bits.
inline bool fast_block(int terms, int frac) {
  return frac >= 1 && frac <= 25 && (terms == 4 || terms == 8 || terms == 16 || terms == 32);
}

struct ReplayKernels {
  void (*fma)(const ChainJob&);
  void (*mul_add)(const ChainJob&);
  void (*kahan)(const ChainJob&);
  void (*kahan_fma)(const ChainJob&);
  void (*block)(const ChainJob&);    // the rounding mode must be toward zero (TowardZero)
  void (*wide_fma)(const WideJob&);  // acc = fma(a, b, acc)
  void (*wide_mul_add)(
      const WideJob&);  // acc = acc + a*b, the product rounded to fp32 (fp64 operands: to fp64)
  void (*wide_products)(const WideJob&);  // acc = acc + a*b, the product in fp64
};

namespace simd_base {
const ReplayKernels& replay_kernels();
}
namespace simd_v3 {
const ReplayKernels& replay_kernels();
}

}  // namespace ulpscope
