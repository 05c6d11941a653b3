// Which outputs a capture keeps when it cannot keep all: where indexing goes wrong, and a fair sample.
#include <algorithm>

#include "harness/capture.hpp"
#include "kernels/support/philox.hpp"

namespace ulpscope {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  /// Uniform on [0, n).
  std::int64_t below(std::int64_t n) {
    const PhiloxState r = philox4x32({counter_++, 0, 0, 1}, static_cast<std::uint32_t>(seed_),
                                     static_cast<std::uint32_t>(seed_ >> 32));
    return static_cast<std::int64_t>((std::uint64_t{r.c0} << 32 | r.c1) % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t seed_;
  std::uint32_t counter_ = 0;
};

constexpr std::int64_t kTiles[] = {32, 64, 128, 256};
constexpr int kRandomPlaces = 96;

// Outputs around which a stretch is to be kept.
std::vector<std::int64_t> places(const Contraction& c, Random& random) {
  const std::int64_t outputs = c.outputs();
  std::vector<std::int64_t> strides(c.out.size());
  std::int64_t stride = 1;
  for (std::size_t axis = c.out.size(); axis-- > 0; stride *= c.out[axis].size) strides[axis] = stride;
  std::vector<std::int64_t> list{0, outputs - 1};
  // Position `at` along an axis, anywhere along the others.
  auto add = [&](std::size_t axis, std::int64_t at) {
    std::int64_t index = 0;
    for (std::size_t other = 0; other < c.out.size(); ++other)
      index += strides[other] * (other == axis ? at : random.below(c.out[other].size));
    list.push_back(index);
  };
  for (std::size_t axis = 0; axis < c.out.size(); ++axis) {
    const std::int64_t size = c.out[axis].size;
    if (size == 1) continue;
    add(axis, 0);
    add(axis, size - 1);
    for (const std::int64_t tile : kTiles) {
      if (size <= tile) continue;
      const std::int64_t last = (size - 1) / tile;  // seams are at 1..last times the tile
      for (const std::int64_t seam : {1 + random.below(last), last}) {
        add(axis, seam * tile - 1);
        add(axis, seam * tile);
      }
    }
  }
  for (int i = 0; i < kRandomPlaces; ++i) {
    const std::int64_t from = outputs / kRandomPlaces * i;
    list.push_back(from + random.below(std::max<std::int64_t>(1, outputs / kRandomPlaces)));
  }
  return list;
}

}  // namespace

std::vector<WindowRange> plan_windows(const Contraction& c, DType out, std::int64_t max_bytes,
                                      std::uint64_t seed) {
  const std::int64_t outputs = c.outputs(), budget = std::max<std::int64_t>(1, max_bytes / size_of(out));
  if (outputs <= budget) return {{0, outputs}};
  Random random(seed);
  std::vector<std::int64_t> centres = places(c, random);
  if (static_cast<std::int64_t>(centres.size()) > budget) centres.resize(static_cast<std::size_t>(budget));
  const std::int64_t length = budget / static_cast<std::int64_t>(centres.size());
  std::vector<WindowRange> windows;
  for (const std::int64_t centre : centres) {
    const std::int64_t begin = std::clamp<std::int64_t>(centre - length / 2, 0, outputs - length);
    windows.push_back({begin, length});
  }
  std::sort(windows.begin(), windows.end(), [](auto& x, auto& y) { return x.begin < y.begin; });
  std::vector<WindowRange> merged;
  for (const WindowRange& w : windows) {
    if (!merged.empty() && w.begin <= merged.back().begin + merged.back().count) {
      WindowRange& last = merged.back();
      last.count = std::max(last.begin + last.count, w.begin + w.count) - last.begin;
    } else {
      merged.push_back(w);
    }
  }
  return merged;
}

}  // namespace ulpscope
