#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "reference/tree/tree.hpp"

namespace ulpscope {
namespace {

// A set of leaves is known by the sum of 128 random bits per leaf: two different sets collide with
// probability 2^-128.
struct Key {
  std::uint64_t x = 0, y = 0;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& k) const { return static_cast<std::size_t>(k.x ^ k.y); }
};

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

struct Sets {
  std::vector<Key> key;              // by node
  std::vector<std::int64_t> leaves;  // below each node
  std::unordered_map<Key, int, KeyHash> inner;
};

Sets sets_of(const SummationTree& tree) {
  Sets s;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& n = tree.nodes[i];
    Key key;
    std::int64_t count = 0;
    if (n.kind == NodeKind::leaf) {
      const auto term = static_cast<std::uint64_t>(n.term);
      key = {mix(term + 0x9e3779b97f4a7c15u), mix(term ^ 0x5851f42d4c957f2du)};
      count = 1;
    }
    for (const int child : n.children) {
      key.x += s.key[static_cast<std::size_t>(child)].x;
      key.y += s.key[static_cast<std::size_t>(child)].y;
      count += s.leaves[static_cast<std::size_t>(child)];
    }
    s.key.push_back(key);
    s.leaves.push_back(count);
    if (n.kind != NodeKind::leaf) s.inner.emplace(key, static_cast<int>(i));
  }
  return s;
}

std::vector<std::int64_t> leaves_below(const SummationTree& tree, int node, std::size_t most) {
  std::vector<std::int64_t> found;
  std::vector<int> stack{node};
  while (!stack.empty()) {
    const TreeNode& n = tree.nodes[static_cast<std::size_t>(stack.back())];
    stack.pop_back();
    if (n.kind == NodeKind::leaf) found.push_back(n.term);
    stack.insert(stack.end(), n.children.begin(), n.children.end());
  }
  std::sort(found.begin(), found.end());
  if (found.size() > most) found.resize(most);
  return found;
}

// The smallest node of x that y does not have, or -1.
int smallest_missing(const Sets& x, const Sets& y, std::int64_t& count) {
  int best = -1;
  for (const auto& [key, node] : x.inner) {
    if (y.inner.contains(key)) continue;
    ++count;
    const auto size = [&](int i) { return std::pair(x.leaves[static_cast<std::size_t>(i)], i); };
    if (best < 0 || size(node) < size(best)) best = node;
  }
  return best;
}

std::string listed(const std::vector<std::int64_t>& v) {
  std::string text = "{";
  for (std::size_t i = 0; i < v.size() && i < 8; ++i) text += (i ? " " : "") + std::to_string(v[i]);
  return text + (v.size() > 8 ? " ...}" : "}");
}

}  // namespace

TreeDifference compare(const SummationTree& x, const SummationTree& y) {
  constexpr std::size_t kShown = 64;
  TreeDifference d;
  const Sets sx = sets_of(x), sy = sets_of(y);
  const Key whole_x = sx.key.empty() ? Key{} : sx.key.back(),
            whole_y = sy.key.empty() ? Key{} : sy.key.back();
  if (!(whole_x == whole_y)) {
    d.same = false;
    d.text = fmt::format("the trees are over different terms: {} and {} leaves", x.leaves(), y.leaves());
    return d;
  }
  const int in_x = smallest_missing(sx, sy, d.only_first), in_y = smallest_missing(sy, sx, d.only_second);
  d.shared = static_cast<std::int64_t>(sx.inner.size()) - d.only_first;
  d.same = in_x < 0 && in_y < 0;
  if (in_x >= 0) d.first = leaves_below(x, in_x, kShown);
  if (in_y >= 0) d.second = leaves_below(y, in_y, kShown);
  if (d.same)
    d.text = "the same tree";
  else
    d.text = fmt::format("{} partial sums in common; {}{}{}", d.shared,
                         in_x >= 0 ? "only the first sums " + listed(d.first) + " by itself" : "",
                         in_x >= 0 && in_y >= 0 ? ", " : "",
                         in_y >= 0 ? "only the second sums " + listed(d.second) + " by itself" : "");
  return d;
}

}  // namespace ulpscope
