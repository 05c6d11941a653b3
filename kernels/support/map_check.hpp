#pragma once
// For tests: does a kernel's index map name exactly the terms that the contraction names, in the order it
// claims?
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/support/gather.hpp"
#include "reference/contraction.hpp"

namespace ulpscope {

/// Walks every output of `map` and compares with terms_of(): the same elements, none twice, in the order
/// chunks of `map.order.chunk` channels, taps, channels.
template <class Map>
void expect_same_terms(const Map& map, const Contraction& c) {
  ASSERT_EQ(map.images * map.groups * map.rows * map.positions, c.outputs());
  const int taps = map.order.taps();
  for (std::int64_t o = 0; o < c.outputs(); ++o) {
    const OutputPlace at = place_of(map, o);
    ASSERT_EQ(map.output(at.image, at.group, at.row, at.position), o);
    const auto column = map.column(at.image, at.group, at.position);
    std::vector<std::pair<std::int64_t, std::int64_t>> walked, expected;
    for (int k = 0; k < map.order.depth(); ++k) {
      const Tap tap = map.order.at(k);
      const std::int64_t i = map.input(column, tap);
      if (i >= 0) walked.emplace_back(i, map.weight(at.group, at.row, tap));
    }
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t, Term>> keyed;
    for (const Term& t : terms_of(c, o)) {
      const std::int64_t channel = t.id / taps, tap = t.id % taps;
      keyed.emplace_back(channel / map.order.chunk, tap, channel, t);
    }
    if (map.order.chunk > 1)
      std::sort(keyed.begin(), keyed.end(), [](const auto& x, const auto& y) {
        return std::tie(std::get<0>(x), std::get<1>(x), std::get<2>(x)) <
               std::tie(std::get<0>(y), std::get<1>(y), std::get<2>(y));
      });
    for (auto& k : keyed) expected.emplace_back(std::get<3>(k).a, std::get<3>(k).b);
    ASSERT_EQ(walked, expected) << "output " << o;
    if (c.has_bias) {
      ASSERT_EQ(static_cast<std::int64_t>(at.group) * map.rows + at.row, bias_index(c, o));
    }
  }
}

/// Uniform over [from, to].
inline std::int64_t pick(std::mt19937_64& rng, std::int64_t from, std::int64_t to) {
  return std::uniform_int_distribution<std::int64_t>(from, to)(rng);
}

}  // namespace ulpscope
