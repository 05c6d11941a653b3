#include "reference/plan/program.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

using Sequence = std::span<const std::int64_t>;

constexpr std::size_t kMaxOps = std::size_t{1} << 26;

class Compiler {
 public:
  Compiler(const Plan& plan, const Slots& slots, std::span<const int> tile, Program& out)
      : plan_(plan), slots_(slots), tile_(tile), out_(out) {}

  void run() {
    out_.places.reserve(slots_.slot.size());
    if (plan_.order.kind == OrderKind::tree) {
      check_leaves();
      node(0, 0, true);
    } else {
      level(0, slots_.slot, 0, true);
    }
  }

 private:
  // ---- registers and operations
  Op& emit(OpKind kind, int dst) {
    if (out_.ops.size() == kMaxOps) throw Error("plan: more than 2^26 partial sums: use longer chunks");
    out_.registers = std::max(out_.registers, dst + 1);
    Op op;
    op.kind = kind;
    op.format = plan_.arithmetic.accumulator;
    op.dst = dst;
    out_.ops.push_back(op);
    return out_.ops.back();
  }
  void add(int dst, int src, DType format) {
    Op& op = emit(OpKind::add, dst);
    op.src = src;
    op.format = format;
  }
  void chain(Sequence places, int dst, bool initial, OpKind kind = OpKind::chain) {
    const bool goes_on = kind == OpKind::extend && !out_.ops.empty() && out_.ops.back().dst == dst &&
                         (out_.ops.back().kind == OpKind::chain || out_.ops.back().kind == OpKind::extend);
    Op& op = goes_on ? out_.ops.back() : emit(kind, dst);
    if (!goes_on) start(op, initial);
    // Tiles of a K loop whose first one is the short one (CUTLASS 2.x): steps never cross from it into the
    // next.
    const std::size_t first = plan_.residue > 0 ? places.size() % static_cast<std::size_t>(plan_.residue) : 0;
    fill(places.first(first));
    fill(places.subspan(first));
    op.to = static_cast<std::int64_t>(out_.places.size());
  }
  void start(Op& op, bool initial) {
    op.takes_bias = initial && op.kind == OpKind::chain && plan_.bias == BiasPlace::first;
    op.from = static_cast<std::int64_t>(out_.places.size());
  }
  void fill(Sequence places) {
    if (plan_.arithmetic.step == Step::block) {
      const auto length = static_cast<std::size_t>(plan_.arithmetic.block.terms);
      std::vector<std::int64_t> dealt;
      if (plan_.interleave.steps > 1) {
        interleave(places, length, dealt);
        places = dealt;
      }
      for (std::size_t i = 0; i < places.size(); i += length) {
        const Sequence step = places.subspan(i, std::min(length, places.size() - i));
        // A step of empty places leaves the accumulator as it is.
        if (std::all_of(step.begin(), step.end(), [](std::int64_t s) { return s < 0; })) continue;
        out_.places.insert(out_.places.end(), step.begin(), step.end());
        out_.places.insert(out_.places.end(), length - step.size(), -1);
      }
    } else {
      for (const std::int64_t s : places)
        if (s >= 0) out_.places.push_back(s);
    }
  }

  // Windows of several steps; the last one is as long as the others, its excess places empty.
  void interleave(Sequence places, std::size_t length, std::vector<std::int64_t>& dealt) const {
    const auto steps = static_cast<std::size_t>(plan_.interleave.steps);
    const auto run = static_cast<std::size_t>(plan_.interleave.run);
    for (std::size_t at = 0; at < places.size(); at += steps * length)
      for (std::size_t step = 0; step < steps; ++step)
        for (std::size_t i = 0; i < length; ++i) {
          const std::size_t p = at + (i / run * steps + step) * run + i % run;
          dealt.push_back(p < places.size() ? places[p] : -1);
        }
  }

  // ---- partial sums
  void level(std::size_t which, Sequence places, int dst, bool initial) {
    if (which == plan_.levels.size()) return chain(places, dst, initial);
    const Level& l = plan_.levels[which];
    std::vector<std::int64_t> dealt;  // lanes, tiles: places by part
    const std::vector<Sequence> parts = divide(l, places, dealt);
    if (parts.empty()) return chain({}, dst, initial);
    const Joiner joiner{*this, l, which, parts, l.in.value_or(plan_.arithmetic.accumulator), initial};
    joiner.join(dst);
  }

  std::vector<Sequence> divide(const Level& l, Sequence places, std::vector<std::int64_t>& dealt) {
    std::vector<Sequence> parts;
    const auto n = static_cast<std::int64_t>(places.size());
    auto cut = [&](std::int64_t from, std::int64_t length) {
      parts.push_back(places.subspan(static_cast<std::size_t>(from),
                                     static_cast<std::size_t>(std::min(length, n - from))));
    };
    if (l.divide == Divide::lanes) {
      std::vector<std::size_t> begin;
      dealt.reserve(places.size());
      for (std::int64_t lane = 0; lane < l.count; ++lane) {
        begin.push_back(dealt.size());
        const std::int64_t stretch = l.restart ? l.restart : std::max<std::int64_t>(n, 1);
        for (std::int64_t from = 0; from < n; from += stretch) {
          const std::int64_t end = std::min(from + stretch, n);
          for (std::int64_t p = from + lane * l.unit; p < end; p += l.count * l.unit)
            for (std::int64_t i = p; i < std::min(p + l.unit, end); ++i)
              dealt.push_back(places[static_cast<std::size_t>(i)]);
        }
      }
      begin.push_back(dealt.size());
      for (std::size_t lane = 0; lane + 1 < begin.size(); ++lane)
        parts.push_back(Sequence(dealt).subspan(begin[lane], begin[lane + 1] - begin[lane]));
      return parts;
    }
    if (l.divide == Divide::tiles) return divide_by_tile(places, dealt);
    std::int64_t unit = l.divide == Divide::chunks ? l.count : l.unit;
    if (l.outermost) {
      if (which_axis_differs(l))
        throw Error("plan: 'split of " + l.axis + "' needs an order that starts with " + l.axis);
      unit = slots_.outermost_step;
    }
    if (l.divide == Divide::split && l.balanced) {
      const std::int64_t units = (n + unit - 1) / unit;
      for (std::int64_t i = 0, at = 0; i < l.count && at < n; ++i) {
        const std::int64_t length = (units / l.count + (i < units % l.count)) * unit;
        if (length > 0) cut(at, length);
        at += length;
      }
      return parts;
    }
    std::int64_t length = unit;
    if (l.divide == Divide::split) {
      const std::int64_t even = (n + l.count - 1) / l.count;
      length = std::max<std::int64_t>((even + unit - 1) / unit * unit, 1);
    }
    for (std::int64_t at = 0; at < n; at += length) cut(at, length);
    // Idle lanes of a shuffle hold zero, and take part: with 30 of 32 slices the first step still adds 16
    // apart.
    if (l.divide == Divide::split && l.join == Join::butterfly && !parts.empty())
      parts.resize(static_cast<std::size_t>(std::max<std::int64_t>(l.count, std::ssize(parts))));
    return parts;
  }
  // Places whose term is not there belong to no tile.
  std::vector<Sequence> divide_by_tile(Sequence places, std::vector<std::int64_t>& dealt) const {
    if (tile_.empty()) return {places};
    const auto of = [&](std::int64_t slot) {
      return slot < 0 ? -1 : tile_[static_cast<std::size_t>(slot / out_.passes)];
    };
    const int last = *std::max_element(tile_.begin(), tile_.end());
    std::vector<std::size_t> begin{0};
    dealt.reserve(places.size());
    for (int t = 0; t <= last; ++t) {
      std::copy_if(places.begin(), places.end(), std::back_inserter(dealt),
                   [&](std::int64_t slot) { return of(slot) == t; });
      begin.push_back(dealt.size());
    }
    std::vector<Sequence> parts;
    for (std::size_t t = 0; t + 1 < begin.size(); ++t)
      parts.push_back(Sequence(dealt).subspan(begin[t], begin[t + 1] - begin[t]));
    return parts;
  }
  bool which_axis_differs(const Level& l) const { return l.axis != slots_.outermost_axis; }

  // Joins the partial sums of one level; part i is computed when it is needed, so few registers are live.
  struct Joiner {
    Compiler& c;
    const Level& l;
    std::size_t which;
    const std::vector<Sequence>& parts;
    DType format;
    bool initial;

    void part(std::size_t i, int dst) const {
      c.level(which + 1, parts[i], dst, initial && i == 0);
      if (l.as) c.emit(OpKind::round, dst).format = *l.as;
    }
    // Parts [from, to), cut at `cut(n)` of n again and again.
    template <class Cut>
    void halves(std::size_t from, std::size_t to, int dst, Cut cut) const {
      if (to - from == 1) return part(from, dst);
      const std::size_t middle = from + cut(to - from);
      halves(from, middle, dst, cut);
      halves(middle, to, dst + 1, cut);
      c.add(dst, dst + 1, format);
    }
    // The value of slot i after `round` rounds of halving; size[r] slots are left after r rounds.
    void folded(const std::vector<std::size_t>& size, std::size_t round, std::size_t i, int dst) const {
      if (round == 0) return part(i, dst);
      folded(size, round - 1, i, dst);
      if (i + size[round] >= size[round - 1]) return;
      folded(size, round - 1, i + size[round], dst + 1);
      c.add(dst, dst + 1, format);
    }
    void join(int dst) const {
      const std::size_t n = parts.size();
      switch (l.join) {
        case Join::seq:
        case Join::unordered:
        case Join::reverse: {
          const bool back = l.join == Join::reverse;
          const auto keep = [&] {
            if (l.kept) c.emit(OpKind::round, dst).format = *l.kept;
          };
          part(back ? n - 1 : 0, dst);
          keep();
          for (std::size_t i = 1; i < n; ++i) {
            part(back ? n - 1 - i : i, dst + 1);
            c.add(dst, dst + 1, format);
            c.out_.ops.back().unordered = l.join == Join::unordered;
            keep();
          }
          return;
        }
        // Adding adjacent pairs level by level, an odd one waiting, cuts at the largest power of two below n.
        case Join::tree:
          return halves(0, n, dst, [](std::size_t m) { return std::bit_ceil(m) / 2; });
        case Join::recursive:
          return halves(0, n, dst, [](std::size_t m) { return m / 2; });
        case Join::butterfly: {
          std::vector<std::size_t> size{n};
          while (size.back() > 1) size.push_back((size.back() + 1) / 2);
          return folded(size, size.size() - 1, 0, dst);
        }
      }
    }
  };

  // ---- arbitrary trees
  void check_leaves() const {
    std::vector<bool> seen(slots_.slot.size());
    std::size_t leaves = 0;
    for (const ExplicitNode& n : plan_.order.tree) {
      if (!n.children.empty()) continue;
      const auto at = static_cast<std::size_t>(n.leaf);
      if (at >= seen.size() || seen[at])
        throw Error("plan: leaf " + std::to_string(n.leaf) + " of the tree is " +
                    (at >= seen.size() ? "beyond the last term" : "there twice"));
      seen[at] = true;
      ++leaves;
    }
    if (leaves != seen.size())
      throw Error("plan: the tree has " + std::to_string(leaves) + " leaves, but an output has " +
                  std::to_string(seen.size()) + " terms");
  }

  const ExplicitNode& at(int i) const { return plan_.order.tree[static_cast<std::size_t>(i)]; }

  void node(int i, int dst, bool initial) {
    const ExplicitNode& n = at(i);
    if (n.children.empty()) return chain(Sequence(&n.leaf, 1), dst, initial);
    std::vector<std::int64_t> leaves;
    std::vector<int> sums;
    for (const int child : n.children) {
      if (at(child).children.empty())
        leaves.push_back(at(child).leaf);
      else
        sums.push_back(child);
    }
    const bool block = plan_.arithmetic.step == Step::block;
    if (n.children.size() > 2 && (!block || sums.size() > 1))
      throw Error(
          "plan: a node of more than two children is a fused step: it needs block arithmetic, and at most "
          "one of its "
          "children may be a sum");
    const auto step = block ? static_cast<std::size_t>(plan_.arithmetic.block.terms) : leaves.size();
    if (block && sums.empty() && leaves.size() == step + 1) {  // a step of one product came first
      chain(Sequence(leaves).first(1), dst, initial);
      return chain(Sequence(leaves).subspan(1), dst, false, OpKind::extend);
    }
    if (leaves.size() > step) throw Error("plan: a node has more leaves than the block step has products");
    if (sums.empty()) return chain(leaves, dst, initial);
    node(sums[0], dst, initial);
    if (sums.size() == 2) {
      node(sums[1], dst + 1, false);
      add(dst, dst + 1, plan_.arithmetic.accumulator);
    } else {
      chain(leaves, dst, false, OpKind::extend);
    }
  }

  const Plan& plan_;
  const Slots& slots_;
  const std::span<const int> tile_;
  Program& out_;
};

}  // namespace

Program compile(const Plan& plan, const Slots& slots, std::span<const int> tile) {
  Program program;
  program.passes = plan.operands.pass_count();
  program.terms = slots.terms;
  Compiler(plan, slots, tile, program).run();
  return program;
}

Program compile(const Plan& plan, const std::vector<NamedExtent>& axes) {
  return compile(plan, lay_out(plan.order, axes, plan.operands.pass_count()));
}

bool products_stand_alone(const Program& program) {
  return std::all_of(program.ops.begin(), program.ops.end(), [](const Op& op) {
    return op.kind == OpKind::chain ? op.to - op.from <= 1 : op.kind != OpKind::extend;
  });
}

}  // namespace ulpscope
