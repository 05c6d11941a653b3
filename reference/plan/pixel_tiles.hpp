#pragma once
// Tiles of A's image (`tiles 128`): kernels that walk over A, not over the output, add what each tile of it
// brings to an output. Which terms share a tile depends on where the output lies.
#include <cstdint>
#include <string>
#include <vector>

#include "reference/contraction.hpp"

namespace ulpscope {

class PixelTiles {
 public:
  /// Tiles of `length` neighbouring pixels, counted through A's image row by row (plane by plane). Throws
  /// Error if no axis of the operator is spatial.
  PixelTiles(const Contraction& c, std::int64_t length);

  /// The tile of each of output o's taps, by the taps' canonical number: ranks from 0, in ascending order of
  /// the tiles; -1 for a tap that is not there. Outputs of equal ranks have the same program.
  void ranks(std::int64_t o, std::vector<int>& by_tap) const;
  /// The same by canonical term.
  std::vector<int> by_term(const std::vector<int>& by_tap) const;

 private:
  const Contraction& c_;
  std::int64_t length_, taps_ = 1;
  std::vector<std::size_t> spatial_;  // reduction axes with a coupling
};

/// Pixels of A's image; 0 where no axis is spatial.
std::int64_t pixels_of(const Contraction& c);

}  // namespace ulpscope
