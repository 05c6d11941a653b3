#include "reference/plan/pixel_tiles.hpp"

#include <algorithm>

#include "reference/error.hpp"
#include "reference/terms.hpp"

namespace ulpscope {

std::int64_t pixels_of(const Contraction& c) {
  std::int64_t pixels = 1;
  bool spatial = false;
  for (const RedAxis& r : c.red) {
    if (r.coupling.out_axis < 0) continue;
    spatial = true;
    pixels = std::max(pixels, r.coupling.extent * r.coupling.a_stride);
  }
  return spatial ? pixels : 0;
}

PixelTiles::PixelTiles(const Contraction& c, std::int64_t length) : c_(c), length_(length) {
  if (pixels_of(c) == 0)
    throw Error("plan: tiles are of A's image, but this operator has none: use chunks or split");
  for (std::size_t x = 0; x < c.red.size(); ++x)
    if (c.red[x].coupling.out_axis >= 0) {
      spatial_.push_back(x);
      taps_ *= c.red[x].size;
    }
}

void PixelTiles::ranks(std::int64_t o, std::vector<int>& by_tap) const {
  const auto at = out_coordinates(c_, o);
  std::vector<std::int64_t> tile(static_cast<std::size_t>(taps_), -1);
  std::vector<std::int64_t> there;
  for (std::int64_t tap = 0; tap < taps_; ++tap) {
    std::int64_t rest = tap, pixel = 0;
    bool exists = true;
    for (std::size_t i = spatial_.size(); i-- > 0 && exists;) {
      const RedAxis& axis = c_.red[spatial_[i]];
      AxisWalk walk = walk_of(axis, at);
      walk.a_stride = 0;  // the image's part of the offset alone
      std::int64_t offset = 0;
      exists = walk.a_offset(rest % axis.size, offset);
      pixel += offset;
      rest /= axis.size;
    }
    if (exists) there.push_back(tile[static_cast<std::size_t>(tap)] = pixel / length_);
  }
  std::sort(there.begin(), there.end());
  there.erase(std::unique(there.begin(), there.end()), there.end());
  by_tap.clear();
  for (const std::int64_t t : tile)
    by_tap.push_back(
        t < 0 ? -1 : static_cast<int>(std::lower_bound(there.begin(), there.end(), t) - there.begin()));
}

std::vector<int> PixelTiles::by_term(const std::vector<int>& by_tap) const {
  std::vector<int> ranks(static_cast<std::size_t>(c_.terms()));
  for (std::int64_t id = 0; id < std::ssize(ranks); ++id) {
    std::int64_t rest = id, tap = 0, step = 1;
    for (std::size_t x = c_.red.size(); x-- > 0;) {
      const std::int64_t size = c_.red[x].size;
      if (c_.red[x].coupling.out_axis >= 0) {
        tap += rest % size * step;
        step *= size;
      }
      rest /= size;
    }
    ranks[static_cast<std::size_t>(id)] = by_tap[static_cast<std::size_t>(tap)];
  }
  return ranks;
}

}  // namespace ulpscope
