#pragma once
// What the three convolution families share: axis names, group checks, spatial extents.
#include <string>

#include "reference/operators/registry.hpp"

namespace ulpscope {

inline constexpr const char* kOutNames[3] = {"od", "oh", "ow"};
inline constexpr const char* kTapNames[3] = {"kd", "kh", "kw"};

/// Spatial axis s (0 outermost) of an operator of rank r has the name of axis s + 3 - r: a conv1d runs along
/// "ow".
inline std::size_t axis_name(int rank, int s) {
  return static_cast<std::size_t>(s + 3 - rank);
}

inline const char* layout_of_image(int rank) {
  return rank == 1 ? "[N, C, W]" : rank == 2 ? "[N, C, H, W]" : "[N, C, D, H, W]";
}
inline const char* layout_of_weight(int rank) {
  return rank == 1   ? "[Cout, Cin/groups, k]"
         : rank == 2 ? "[Cout, Cin/groups, kh, kw]"
                     : "[Cout, Cin/groups, kd, kh, kw]";
}
inline const char* layout_of_transposed_weight(int rank) {
  return rank == 1   ? "[Cin, Cout/groups, k]"
         : rank == 2 ? "[Cin, Cout/groups, kh, kw]"
                     : "[Cin, Cout/groups, kd, kh, kw]";
}

/// `channels` / groups, refused unless it divides.
std::int64_t channels_per_group(const Problem& problem, std::int64_t channels, const char* what);

/// Output extent of a convolution along spatial axis s: floor((in + 2*pad - dil*(k-1) - 1) / stride) + 1;
/// refused if the window does not fit.
std::int64_t convolved_extent(const Problem& problem, int s, std::int64_t in, std::int64_t kernel);

/// The transposed convolution's index map, shared with backward-input: `extents` are the output's spatial
/// ones.
Contraction lower_transposed(const Problem& problem, const Shape& extents);

}  // namespace ulpscope
