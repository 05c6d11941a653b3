#pragma once
// Which instruction-set level the *.simd.cpp loops run at: decided once, overridable by ULPSCOPE_SIMD=base
// for tests.
namespace ulpscope {
enum class SimdLevel { base, v3 };
SimdLevel simd_level();
const char* to_string(SimdLevel level);
}  // namespace ulpscope
