#pragma once
// Summation trees: what a plan makes of the terms of one output, as a tree to look at, compare and bound.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/plan/program.hpp"

namespace ulpscope {

enum class NodeKind : std::uint8_t {
  leaf,        // a product
  add,         // two sums, rounded
  accumulate,  // a chain's step: the sum so far (first child, if there is one) and one product, or a block's
               // products
};

struct TreeNode {
  NodeKind kind = NodeKind::leaf;
  std::int64_t term = -1;     // leaf: canonical term * passes + pass
  std::vector<int> children;  // indices below this node's own
};

struct SummationTree {
  std::vector<TreeNode> nodes;  // children before parents; the root is last
  int passes = 1;
  int root() const { return static_cast<int>(nodes.size()) - 1; }
  std::int64_t leaves() const;
};

/// The tree over all terms of an output that misses none / of one output, without its missing taps. Empty if
/// there are no terms.
SummationTree tree_of(const Program& program, const Arithmetic& arithmetic);
SummationTree tree_of(const Plan& plan, const std::vector<NamedExtent>& axes);
SummationTree tree_of(const Plan& plan, const Contraction& c, std::int64_t output);

/// Roundings on the way from each leaf to the root, by the leaf's term number (-1 for terms that are not
/// there): each rounded product, FMA, addition or block step counts one.
std::vector<int> rounding_counts(const SummationTree& tree, const Arithmetic& arithmetic);

/// Sum over leaves of |product| times expm1(u * roundings on its way): what the sum may be off by, underflow
/// and operand shortening apart. `magnitude` is |a*b| by term number. Not for block arithmetic, whose steps
/// truncate (bound_of).
double bound_from(const SummationTree& tree, const Arithmetic& arithmetic, std::span<const double> magnitude);

/// ((0 1) (2 3)): parses back as `order tree ...`.
std::string to_text(const SummationTree& tree);
/// {"leaves": n, "tree": nested arrays of term numbers}
std::string to_json(const SummationTree& tree);
/// A Graphviz digraph; block steps are boxes. `names` may give leaves another label than their number.
std::string to_dot(const SummationTree& tree, std::span<const std::string> names = {});

/// Where two trees over the same terms part. Trees are compared as what is summed together, not as drawings:
/// the order of children does not matter.
struct TreeDifference {
  bool same = true;
  std::int64_t shared = 0, only_first = 0, only_second = 0;  // inner nodes by the set of leaves below them
  std::vector<std::int64_t> first,
      second;        // leaves of the smallest node that only one tree has (at most 64 shown)
  std::string text;  // one line
};
TreeDifference compare(const SummationTree& x, const SummationTree& y);

}  // namespace ulpscope
