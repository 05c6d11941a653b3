#pragma once
// One output, term by term: what every tile kernel must reproduce, and how its few special outputs are
// computed.
#include "kernels/support/sums.hpp"
#include "kernels/support/tap_order.hpp"

namespace ulpscope {

/// Which output: image, group, row (output channel within the group), position.
struct OutputPlace {
  std::int64_t image;
  int group, row;
  std::int64_t position;
};

/// Linear output index -> place, positions innermost.
template <class Map>
ULPSCOPE_HD OutputPlace place_of(const Map& map, std::int64_t output) {
  OutputPlace at{};
  std::int64_t channel = output / map.positions;
  at.position = output - channel * map.positions;
  channel = divide(channel, map.rows, at.row);
  at.image = divide(channel, map.groups, at.group);
  return at;
}

/// The sum over the existing terms of one output in the map's order, missing ones left out; the bias, if any,
/// last.
template <class Sum, class Map, class T>
ULPSCOPE_HD float gather(const Map& map, const OutputPlace& at, const T* x, const T* w, const T* bias) {
  Sum sum;
  const auto column = map.column(at.image, at.group, at.position);
  const int depth = map.order.depth();
  for (int k = 0; k < depth; ++k) {
    const Tap tap = map.order.at(k);
    const std::int64_t i = map.input(column, tap);
    if (i >= 0)
      sum.add(Sum::operand(static_cast<float>(x[i])),
              Sum::operand(static_cast<float>(w[map.weight(at.group, at.row, tap)])), k);
    sum.close(k);
  }
  return bias ? sum.with_bias(
                    static_cast<float>(bias[at.group * static_cast<std::int64_t>(map.rows) + at.row]))
              : sum.result();
}

}  // namespace ulpscope
