#include "reference/tree/tree.hpp"

#include <algorithm>
#include <cmath>

#include "reference/error.hpp"
#include "reference/plan/pixel_tiles.hpp"

namespace ulpscope {
namespace {

// Runs a program on node numbers in place of values. -1: nothing summed yet.
class Builder {
 public:
  Builder(const Program& p, const std::vector<bool>* present) : p_(p), present_(present) {
    tree_.passes = p.passes;
  }

  SummationTree build(const Arithmetic& arithmetic) {
    const std::int64_t length = arithmetic.step == Step::block ? arithmetic.block.terms : 1;
    std::vector<int> reg(static_cast<std::size_t>(p_.registers), -1);
    for (const Op& op : p_.ops) {
      int& dst = reg[static_cast<std::size_t>(op.dst)];
      switch (op.kind) {
        case OpKind::chain:
          dst = -1;
          [[fallthrough]];
        case OpKind::extend:
          for (std::int64_t at = op.from; at < op.to; at += length)
            dst = accumulate(dst, at, std::min(at + length, op.to));
          break;
        case OpKind::add:
          dst = join(dst, reg[static_cast<std::size_t>(op.src)]);
          break;
        case OpKind::round:
          break;
      }
    }
    // Every node hangs from the last one made, unless the sum is empty.
    return std::move(tree_);
  }

 private:
  int push(TreeNode node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<int>(tree_.nodes.size()) - 1;
  }
  int accumulate(int acc, std::int64_t from, std::int64_t to) {
    std::vector<int> children;
    if (acc >= 0) children.push_back(acc);
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t slot = p_.places[static_cast<std::size_t>(i)];
      if (slot < 0 || (present_ && !(*present_)[static_cast<std::size_t>(slot / p_.passes)])) continue;
      children.push_back(push({NodeKind::leaf, slot, {}}));
    }
    if (children.empty()) return acc;
    if (children.size() == 1) return children[0];
    return push({NodeKind::accumulate, -1, std::move(children)});
  }
  int join(int x, int y) {
    if (x < 0 || y < 0) return x < 0 ? y : x;
    return push({NodeKind::add, -1, {x, y}});
  }

  const Program& p_;
  const std::vector<bool>* present_;
  SummationTree tree_;
};

}  // namespace

std::int64_t SummationTree::leaves() const {
  return std::count_if(nodes.begin(), nodes.end(),
                       [](const TreeNode& n) { return n.kind == NodeKind::leaf; });
}

SummationTree tree_of(const Program& program, const Arithmetic& arithmetic) {
  return Builder(program, nullptr).build(arithmetic);
}

SummationTree tree_of(const Plan& plan, const std::vector<NamedExtent>& axes) {
  return tree_of(compile(plan, axes), plan.arithmetic);
}

SummationTree tree_of(const Plan& plan, const Contraction& c, std::int64_t output) {
  std::vector<int> tile;
  if (has_tiles(plan)) {
    const PixelTiles tiles(c, plan.levels[0].count);
    tiles.ranks(output, tile);
    tile = tiles.by_term(tile);
  }
  const Program program =
      compile(plan, lay_out(plan.order, reduction_axes(c), plan.operands.pass_count()), tile);
  std::vector<bool> present(static_cast<std::size_t>(program.terms));
  for (const Term& t : terms_of(c, output)) present[static_cast<std::size_t>(t.id)] = true;
  return Builder(program, &present).build(plan.arithmetic);
}

std::vector<int> rounding_counts(const SummationTree& tree, const Arithmetic& arithmetic) {
  std::int64_t last = -1;
  for (const TreeNode& n : tree.nodes) last = std::max(last, n.term);
  std::vector<int> counts(static_cast<std::size_t>(last + 1), -1);
  std::vector<int> above(tree.nodes.size(), 0);
  const bool separate = arithmetic.step == Step::mul_add || arithmetic.step == Step::kahan;
  const bool block = arithmetic.step == Step::block;
  for (std::size_t i = tree.nodes.size(); i-- > 0;) {
    const TreeNode& n = tree.nodes[i];
    if (n.kind == NodeKind::leaf) {
      counts[static_cast<std::size_t>(n.term)] = above[i];
      continue;
    }
    for (std::size_t k = 0; k < n.children.size(); ++k) {
      const auto child = static_cast<std::size_t>(n.children[k]);
      above[child] = above[i] + 1;
      if (tree.nodes[child].kind != NodeKind::leaf) continue;
      // A product that starts a chain, or that is added on its own, is rounded (or truncated) by itself. In a
      // chain's later steps an FMA rounds product and sum at once.
      const bool fused = n.kind == NodeKind::accumulate && (block || k > 0);
      if (separate || !fused) ++above[child];
    }
  }
  if (tree.nodes.size() == 1) counts[static_cast<std::size_t>(tree.nodes[0].term)] = 1;
  return counts;
}

double bound_from(const SummationTree& tree, const Arithmetic& arithmetic,
                  std::span<const double> magnitude) {
  if (arithmetic.step == Step::block || arithmetic.step == Step::kahan || arithmetic.step == Step::kahan_fma)
    throw Error("a bound by leaves needs plain sums: use bound_of for block and compensated arithmetic");
  const int precision = std::min(info(arithmetic.accumulator).precision, info(arithmetic.product).precision);
  const std::vector<int> counts = rounding_counts(tree, arithmetic);
  double sum = 0;
  for (std::size_t t = 0; t < counts.size(); ++t)
    if (counts[t] >= 0) sum += magnitude[t] * std::expm1(std::ldexp(counts[t], -precision));
  return sum * (1 + 0x1p-20);  // its own roundings, for up to 2^30 terms
}

}  // namespace ulpscope
