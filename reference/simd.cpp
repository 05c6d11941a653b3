#include "reference/simd.hpp"

#include <cstdlib>
#include <cstring>

namespace ulpscope {

SimdLevel simd_level() {
  static const SimdLevel level = [] {
    const char* forced = std::getenv("ULPSCOPE_SIMD");
    if (forced && std::strcmp(forced, "base") == 0) return SimdLevel::base;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("x86-64-v3")) return SimdLevel::v3;
#endif
    return SimdLevel::base;
  }();
  return level;
}

const char* to_string(SimdLevel level) {
  return level == SimdLevel::v3 ? "x86-64-v3" : "baseline";
}

}  // namespace ulpscope
