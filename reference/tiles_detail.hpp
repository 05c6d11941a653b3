#pragma once
// Shared by tiles.cpp and tiles_packer.cpp.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/tiles.hpp"

namespace ulpscope {

inline std::int64_t floor_div(std::int64_t x, std::int64_t divisor) {
  const std::int64_t q = x / divisor;
  return q - (x % divisor < 0);
}

inline std::size_t index(Side side) {
  return static_cast<std::size_t>(side);
}
inline std::size_t index(Operand operand) {
  return static_cast<std::size_t>(operand);
}

/// Reduction axes with a coupling; throws Error if there are more than 3.
std::vector<std::size_t> coupled_axes(const Contraction& c);

}  // namespace ulpscope
