#pragma once
// Shards: a run's work dealt out over machines or devices that know nothing of each other.
#include <cstddef>
#include <string_view>
#include <vector>

namespace ulpscope {

struct Shard {
  int index = 1, of = 1;  // 1-based
};

/// "3/8". Throws Error on anything else, and on numbers outside 1..of.
Shard parse_shard(std::string_view text);

/// Item k of a list goes to shard k mod n + 1, whatever the machine.
template <class T>
std::vector<T> dealt(const Shard& shard, const std::vector<T>& all) {
  std::vector<T> mine;
  for (auto k = static_cast<std::size_t>(shard.index - 1); k < all.size();
       k += static_cast<std::size_t>(shard.of))
    mine.push_back(all[k]);
  return mine;
}

}  // namespace ulpscope
