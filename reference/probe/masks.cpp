#include "reference/probe/masks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace ulpscope {
std::int64_t Masks::count_of(double result, MaskSet& set) const {
  const double count = result / (static_cast<double>(scale_.small_a) * static_cast<double>(scale_.small_b));
  if (!(count >= 0) || count > static_cast<double>(set.count) || count != std::floor(count)) {
    set.sound = false;
    return -1;
  }
  return static_cast<std::int64_t>(count);
}

MaskSet Masks::grid(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& columns,
                    std::uint64_t seed) {
  const auto n = static_cast<std::size_t>(bench_.terms());
  MaskSet set;
  set.counted.assign(n, true);
  set.count = bench_.terms();
  if (!counts_all()) {
    // Too many ones would no longer vanish beside M: count a random few, none of them masked anywhere.
    std::vector<std::int64_t> free;
    std::vector<bool> masked(n);
    for (const auto* list : {&rows, &columns})
      for (const std::int64_t k : *list) masked[static_cast<std::size_t>(k)] = true;
    for (std::size_t k = 0; k < n; ++k)
      if (!masked[k]) free.push_back(static_cast<std::int64_t>(k));
    std::mt19937_64 rng(seed);
    std::shuffle(free.begin(), free.end(), rng);
    free.resize(std::min(free.size(), static_cast<std::size_t>(std::max<std::int64_t>(scale_.limit, 0))));
    set.counted.assign(n, false);
    for (const std::int64_t k : free) set.counted[static_cast<std::size_t>(k)] = true;
    set.count = std::ssize(free);
  }
  std::vector<Pattern> a, b;
  for (const std::int64_t i : rows) {
    Pattern p(n, scale_.small_a);
    if (!counts_all())
      for (const std::int64_t other : rows) p[static_cast<std::size_t>(other)] = 0;
    p[static_cast<std::size_t>(i)] = scale_.big_a;
    a.push_back(std::move(p));
  }
  for (const std::int64_t j : columns) {
    Pattern p(n, scale_.small_b);
    if (!counts_all()) {
      for (std::size_t k = 0; k < n; ++k)
        if (!set.counted[k]) p[k] = 0;
      for (const std::int64_t i : rows) p[static_cast<std::size_t>(i)] = scale_.small_b;
    }
    p[static_cast<std::size_t>(j)] = -scale_.big_b;
    b.push_back(std::move(p));
  }
  const std::vector<double> results = bench_.run(a, b);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (rows[r] != columns[c])
        set.pairs.push_back({rows[r], columns[c], count_of(results[r * columns.size() + c], set)});
  return set;
}

MaskSet Masks::pairs(const std::vector<std::pair<std::int64_t, std::int64_t>>& wanted) {
  const auto n = static_cast<std::size_t>(bench_.terms());
  MaskSet set;
  set.counted.assign(n, true);
  set.count = bench_.terms();
  std::vector<Pattern> a;
  for (const auto& [i, j] : wanted) {
    Pattern p(n, scale_.small_a);
    p[static_cast<std::size_t>(i)] = scale_.big_a;
    p[static_cast<std::size_t>(j)] = -scale_.big_a;
    a.push_back(std::move(p));
  }
  const std::vector<Pattern> b{Pattern(n, scale_.small_b)};
  const std::vector<double> results = bench_.run(a, b);
  for (std::size_t k = 0; k < wanted.size(); ++k)
    set.pairs.push_back({wanted[k].first, wanted[k].second, count_of(results[k], set)});
  return set;
}

std::vector<std::int64_t> subtree_counts(const Program& program, int block_terms, std::int64_t i,
                                         const std::vector<bool>& counted) {
  struct Register {
    std::int64_t count = 0;
    bool holds_i = false;
    std::int64_t from = 0, to = 0;  // its leaves are places [from, to): programs use places in order
  };
  std::vector<std::int64_t> result(static_cast<std::size_t>(program.terms * program.passes), -1);
  std::vector<Register> reg(static_cast<std::size_t>(program.registers));
  const auto weight = [&](std::int64_t slot) {
    return counted.empty() || counted[static_cast<std::size_t>(slot)] ? 1 : 0;
  };
  const auto assign = [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    for (std::int64_t p = from; p < to; ++p) {
      const std::int64_t slot = program.places[static_cast<std::size_t>(p)];
      if (slot >= 0) result[static_cast<std::size_t>(slot)] = count;
    }
  };
  for (const Op& op : program.ops) {
    Register& dst = reg[static_cast<std::size_t>(op.dst)];
    switch (op.kind) {
      case OpKind::chain:
        dst = {0, false, op.from, op.from};
        [[fallthrough]];
      case OpKind::extend:
        for (std::int64_t p = op.from; p < op.to; p += block_terms) {
          const std::int64_t end = std::min(p + block_terms, op.to);
          const bool before = dst.holds_i;
          for (std::int64_t q = p; q < end; ++q) {
            const std::int64_t slot = program.places[static_cast<std::size_t>(q)];
            if (slot < 0) continue;
            dst.count += weight(slot);
            dst.holds_i |= slot == i;
          }
          if (before)
            assign(p, end, dst.count);
          else if (dst.holds_i)
            assign(dst.from, end, dst.count);
          dst.to = end;
        }
        break;
      case OpKind::add: {
        const Register& src = reg[static_cast<std::size_t>(op.src)];
        dst.count += src.count;
        if (dst.holds_i)
          assign(src.from, src.to, dst.count);
        else if (src.holds_i)
          assign(dst.from, dst.to, dst.count);
        dst.holds_i |= src.holds_i;
        dst.from = std::min(dst.from, src.from);
        dst.to = std::max(dst.to, src.to);
        break;
      }
      case OpKind::round:
        break;
    }
  }
  return result;
}

std::int64_t agreeing(const Program& program, int block_terms, const MaskSet& set, bool all_or_nothing) {
  std::int64_t good = 0, row = -1;
  std::vector<std::int64_t> inside;
  for (const MaskedPair& p : set.pairs) {
    if (p.i != row) inside = subtree_counts(program, block_terms, row = p.i, set.counted);
    const bool same = p.outside == set.count - inside[static_cast<std::size_t>(p.j)];
    if (!same && all_or_nothing) return 0;
    good += same;
  }
  return good;
}

namespace {

// A group of terms known to be summed by themselves (or to join one node one by one).
struct Group {
  std::vector<std::int64_t> terms;      // the first is measured with each of the others
  std::map<std::int64_t, int> by_size;  // size of the common subtree -> the group that joins there
};

}  // namespace

std::optional<SummationTree> reveal_tree(Masks& masks, std::int64_t terms, std::int64_t max_launches,
                                         MaskSet& measured) {
  if (!masks.counts_all()) return std::nullopt;
  std::vector<Group> groups(1);
  for (std::int64_t k = 0; k < terms; ++k) groups[0].terms.push_back(k);
  std::int64_t launches = 0;
  // Breadth first: the first term of each group with all the others, all groups of a generation at once.
  for (std::size_t generation = 0; generation < groups.size();) {
    const std::size_t end = groups.size();
    std::vector<std::pair<std::int64_t, std::int64_t>> wanted;
    for (std::size_t g = generation; g < end; ++g)
      for (std::size_t k = 1; k < groups[g].terms.size(); ++k)
        wanted.emplace_back(groups[g].terms[0], groups[g].terms[k]);
    if (!wanted.empty()) {
      launches += masks.launches_for_pairs(std::ssize(wanted));
      if (launches > max_launches) return std::nullopt;
      const MaskSet set = masks.pairs(wanted);
      measured.counted = set.counted;
      measured.count = set.count;
      measured.pairs.insert(measured.pairs.end(), set.pairs.begin(), set.pairs.end());
      if (!set.sound) return std::nullopt;
      std::size_t at = 0;
      for (std::size_t g = generation; g < end; ++g) {
        const std::size_t size = groups[g].terms.size();
        for (std::size_t k = 1; k < size; ++k, ++at) {
          const std::int64_t inside = terms - set.pairs[at].outside;
          auto [it, fresh] = groups[g].by_size.emplace(inside, static_cast<int>(groups.size()));
          if (fresh) groups.emplace_back();
          const std::int64_t term = groups[g].terms[k];  // groups may have moved
          groups[static_cast<std::size_t>(groups[g].by_size[inside])].terms.push_back(term);
        }
        // A term that comes last tells nothing about the others: the next look starts from the other end.
        if (groups[g].by_size.size() == 1) {
          auto& rest = groups[static_cast<std::size_t>(groups[g].by_size.begin()->second)].terms;
          std::swap(rest.front(), rest.back());
        }
      }
    }
    generation = end;
  }
  // Bottom up: a group's tree is its first term, joined by one part after another. A part whose own terms
  // only meet at the size where it joins did not form a sum before: its terms (or sums) join the node one by
  // one, in a fused step.
  SummationTree tree;
  auto leaf = [&](std::int64_t term) {
    tree.nodes.push_back({NodeKind::leaf, term, {}});
    return tree.root();
  };
  std::vector<std::vector<int>> pieces(groups.size());  // what a group brings to the node where it joins
  std::vector<std::int64_t> joins_at(groups.size(), terms);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const auto& [size, part] : groups[g].by_size) joins_at[static_cast<std::size_t>(part)] = size;
  for (std::size_t g = groups.size(); g-- > 0;) {
    int node = leaf(groups[g].terms[0]);
    std::vector<int> loose{node};
    for (const auto& [size, part] : groups[g].by_size) {
      const std::vector<int>& with = pieces[static_cast<std::size_t>(part)];
      if (g > 0 && size > joins_at[g]) return std::nullopt;
      if (g > 0 && size == joins_at[g]) {  // meets the rest only where the group joins its parent
        loose.insert(loose.end(), with.begin(), with.end());
        continue;
      }
      TreeNode sum{NodeKind::accumulate, -1, {loose[0]}};
      sum.children.insert(sum.children.end(), with.begin(), with.end());
      const auto is_sum = [&](int c) {
        return tree.nodes[static_cast<std::size_t>(c)].kind != NodeKind::leaf;
      };
      if (std::all_of(sum.children.begin(), sum.children.end(), is_sum)) sum.kind = NodeKind::add;
      tree.nodes.push_back(std::move(sum));
      loose[0] = tree.root();
    }
    pieces[g] = loose;
  }
  if (pieces[0].size() != 1) return std::nullopt;
  return tree;
}

}  // namespace ulpscope
