#pragma once
// A set of outputs in words: all, one, a channel, a tail, a residue modulo a tile.
#include <cstdint>
#include <string>
#include <vector>

#include "reference/contraction.hpp"

namespace ulpscope {

struct Region {
  std::int64_t outputs = 0, of = 0;
  bool localised = false;               // some axis is restricted, and within that nearly all outputs belong
  std::string axis;                     // the axis that restricts it; "channel" for g and m together
  std::int64_t from = 0, to = 0;        // positions on it
  std::int64_t modulo = 0;              // > 0: positions with p mod modulo in residues
  std::vector<std::int64_t> positions;  // those on it that are affected (at most 64)
  std::int64_t first = -1;              // first output
  std::vector<std::int64_t> first_coordinates;  // as the user sees them
  std::string words;
};

Region region_of(const Contraction& c, const std::vector<std::uint8_t>& member);

/// "65 mod 4, 8, 16, 32 and 64": the usual tile sizes that leave `rest` of `size` over, all of them, because
/// which one the kernel has cannot be told; "" if none does.
std::string tiles_that_leave(std::int64_t size, std::int64_t rest);

/// Coordinates in out_shape.
std::vector<std::int64_t> coordinates_of(const Shape& shape, std::int64_t index);

}  // namespace ulpscope
