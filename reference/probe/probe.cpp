#include "reference/probe/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <set>

#include "reference/error.hpp"
#include "reference/probe/masks.hpp"
#include "reference/probe/numbers.hpp"
#include "reference/search/family.hpp"

namespace ulpscope {
namespace {

/// An order and its division, without what happens to numbers, as the masks see it.
struct Candidate {
  Plan plan;
  Program program;
  int block_terms;
};

int block_terms_of(const Plan& plan) {
  return plan.arithmetic.step == Step::block ? plan.arithmetic.block.terms : 1;
}

constexpr std::int64_t kSumLaunches = 3, kPairLaunches = 1;  // kept for probe_sums and for order_pairs

class Prober {
 public:
  Prober(const ProbeTarget& target, const ProbeOptions& options)
      : options_(options),
        bench_(target, options.max_rows, options.max_columns),
        axes_(reduction_axes(target.contraction)),
        rng_(options.seed) {
    result_.terms = bench_.terms();
    covered_.resize(static_cast<std::size_t>(bench_.terms()));
  }

  ProbeResult run() {
    probe_operands(bench_, result_.arithmetic);
    const MaskScale scale = probe_scale(bench_, result_.notes);
    Masks masks(bench_, scale);
    if (bench_.terms() < 2)
      result_.notes.push_back("one term: there is no order");
    else
      find_order(masks);
    if (!survivors_.empty() || bench_.terms() < 2) find_arithmetic();
    result_.launches = bench_.launches();
    result_.terms_covered = std::count(covered_.begin(), covered_.end(), true);
    result_.confirmed = !result_.plan.empty() && result_.masks == result_.masks_agreeing &&
                        result_.outputs > 0 && result_.outputs == result_.outputs_agreeing;
    return std::move(result_);
  }

 private:
  std::int64_t launches_left() const { return options_.max_launches - bench_.launches(); }

  // Terms at every distance: the first ones, then ever wider apart, then some at random.
  std::vector<std::int64_t> sample(std::int64_t most, std::int64_t offset,
                                   const std::vector<std::int64_t>& without = {}) {
    const std::int64_t n = bench_.terms();
    std::set<std::int64_t> chosen;
    const std::set<std::int64_t> taken(without.begin(), without.end());
    const auto want = [&](std::int64_t k) {
      if (!taken.contains(k) && k >= 0 && k < n && std::ssize(chosen) < most) chosen.insert(k);
    };
    for (std::int64_t k = offset; k < std::min(n, most / 3); k += 1 + offset) want(k);
    for (std::int64_t step = 4; step < n; step *= 2)
      for (std::int64_t k = 1; k <= 5; ++k) want(k * step + offset), want(n - 1 - k * step + offset);
    for (std::int64_t tries = 0; tries < 4 * most; ++tries)
      want(static_cast<std::int64_t>(rng_() % static_cast<std::uint64_t>(n)));
    if (chosen.empty()) chosen.insert(n - 1);
    return {chosen.begin(), chosen.end()};
  }

  MaskSet measure(Masks& masks, std::vector<std::int64_t> rows, std::vector<std::int64_t> columns) {
    if (!masks.counts_all())  // counted terms must be left over, and rows and columns apart
      std::erase_if(columns,
                    [&](std::int64_t k) { return std::find(rows.begin(), rows.end(), k) != rows.end(); });
    MaskSet set;
    if (bench_.has_second_operand()) {
      set = masks.grid(rows, columns, rng_());
    } else {
      std::vector<std::pair<std::int64_t, std::int64_t>> wanted;
      for (std::size_t k = 0; k < columns.size(); ++k)
        if (rows[k % rows.size()] != columns[k]) wanted.emplace_back(rows[k % rows.size()], columns[k]);
      std::sort(wanted.begin(), wanted.end());
      set = masks.pairs(wanted);
    }
    for (const auto& p : set.pairs)
      covered_[static_cast<std::size_t>(p.i)] = covered_[static_cast<std::size_t>(p.j)] = true;
    return set;
  }

  std::int64_t side(std::int64_t places) const {
    return std::max<std::int64_t>(1, std::min({places, bench_.terms(), std::int64_t{256}}));
  }

  void find_order(Masks& masks) {
    const bool alone = !bench_.has_second_operand();
    std::int64_t most_rows = side(bench_.rows()),
                 most_columns = side(alone ? bench_.rows() : bench_.columns());
    if (!masks.counts_all()) {  // leave something to count
      most_rows = std::max<std::int64_t>(1, std::min(most_rows, bench_.terms() / 3));
      most_columns = std::max<std::int64_t>(1, std::min(most_columns, bench_.terms() / 3));
    }
    most_rows = std::min(most_rows, std::max<std::int64_t>(1, bench_.terms() / 2));  // rows and columns apart
    const std::int64_t grid = alone ? bench_.rows() : bench_.rows() * bench_.columns();
    // With few terms, or few places, the tree is read at once: then every launch tells something.
    if ((bench_.terms() <= bench_.rows() || grid < 4 * bench_.terms()) && masks.counts_all())
      read_tree(masks);
    if (sets_.empty()) {
      const std::vector<std::int64_t> rows = sample(most_rows, 0);
      sets_.push_back(measure(masks, rows, sample(most_columns, 1, rows)));
      if (!sets_[0].sound)
        result_.notes.push_back(
            "some masks did not count: the sum may depend on values, or be too short for masks");
    }
    select();
    std::vector<Candidate> closest = survivors_;
    // Every term takes part in some pair, as far as the launches go; some are kept for what follows.
    while (!survivors_.empty() && launches_left() > kSumLaunches + options_.random_launches &&
           std::find(covered_.begin(), covered_.end(), false) != covered_.end()) {
      const std::vector<std::int64_t> rows = uncovered(most_rows);
      sets_.push_back(measure(masks, rows, uncovered(most_columns, rows)));
      std::erase_if(survivors_, [&](const Candidate& c) { return !agrees(c, sets_.back()); });
      if (survivors_.empty()) select();
      if (!survivors_.empty()) closest = survivors_;
    }
    if (survivors_.empty() && !tree_) read_tree(masks);
    if (survivors_.empty() && tree_) take_tree();
    if (survivors_.empty()) {
      result_.notes.push_back(
          "no plan agrees with all masks" +
          std::string(tree_ ? "" : ", and the launches do not suffice to read the whole tree"));
      survivors_ = closest;  // what came closest, to say how close
    }
    if (survivors_.size() > 1)
      result_.notes.push_back(fmt::format("{} different orders agree with all masks", survivors_.size()));
    for (const MaskSet& set : sets_) {
      result_.masks += std::ssize(set.pairs);
      if (!survivors_.empty())
        result_.masks_agreeing += agreeing(survivors_[0].program, survivors_[0].block_terms, set, false);
    }
  }

  // Terms that no pair has touched yet, filled up with others.
  std::vector<std::int64_t> uncovered(std::int64_t most, const std::vector<std::int64_t>& without = {}) {
    std::vector<std::int64_t> fresh;
    const std::set<std::int64_t> taken(without.begin(), without.end());
    for (std::int64_t k = 0; k < bench_.terms(); ++k)
      if (!covered_[static_cast<std::size_t>(k)] && !taken.contains(k)) fresh.push_back(k);
    std::shuffle(fresh.begin(), fresh.end(), rng_);
    fresh.resize(std::min(fresh.size(), static_cast<std::size_t>(most)));
    while (fresh.size() < 2)
      fresh.push_back(static_cast<std::int64_t>(rng_() % static_cast<std::uint64_t>(bench_.terms())));
    std::sort(fresh.begin(), fresh.end());
    fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
    return fresh;
  }

  // Orders that agree with everything measured so far.
  void select() {
    consider_hints();
    for (int tier = 0; tier < 2 && survivors_.empty(); ++tier) consider_family(tier);
  }

  static bool agrees(const Candidate& c, const MaskSet& set) {
    return agreeing(c.program, c.block_terms, set, true) == std::ssize(set.pairs);
  }

  void consider(const Plan& plan, Program program) {
    ++result_.candidates;
    Candidate c{plan, std::move(program), block_terms_of(plan)};
    if (!std::all_of(sets_.begin(), sets_.end(), [&](const MaskSet& set) { return agrees(c, set); })) return;
    const auto same = [&](const Candidate& other) {
      return other.block_terms == c.block_terms && other.program == c.program;
    };
    if (std::none_of(survivors_.begin(), survivors_.end(), same)) survivors_.push_back(std::move(c));
  }

  void consider_hints() {
    for (const std::string& text : options_.hints) {
      const auto plan = parse_plan(text);
      if (plan->operands.pass_count() > 1 || is_unordered(*plan)) continue;  // masks see one product per term
      try {
        consider(*plan, compile(*plan, axes_));
      } catch (const Error& e) {
        result_.notes.push_back(fmt::format("hint '{}': {}", text, e.what()));
      }
    }
  }

  // The smallest sum seen has as many terms as a step, if steps are fused.
  std::vector<int> block_lengths() const {
    std::int64_t least = bench_.terms();
    bool counted_all = false;
    for (const MaskSet& set : sets_)
      for (const MaskedPair& p : set.pairs)
        if ((counted_all = std::ssize(set.counted) == set.count))
          least = std::min(least, set.count - p.outside);
    if (!counted_all) return {1, 8, 16, 4, 32};
    if (least < 4) return {1};
    return {8, 16, 4, 32, 1};
  }

  void consider_family(int tier) {
    const std::vector<int> lengths = block_lengths();
    for (const int block : lengths) {
      Plan plan;
      if (block > 1) {
        plan.arithmetic.step = Step::block;
        plan.arithmetic.block.terms = block;
        plan.operands.a = plan.operands.b = OperandFormat::bf16;  // any: the masks do not see it
      }
      std::vector<Order> all = orders(axes_, block > 1, tier);
      if (tier > 0)
        for (std::size_t i = all.size(); i-- > 0;) {
          all.push_back(all[i]);
          all.back().reversed = !all.back().reversed;
        }
      for (const Order& order : all) {
        plan.order = order;
        const Slots slots = lay_out(order, axes_, 1);
        const auto places = std::ssize(slots.slot);
        for (const Division& d : divisions(places, slots.outermost_step, block > 1, tier)) {
          if (d.residue > 0 && !leaves_residue(d, places)) continue;
          if (block > 1 && !d.levels.empty() && d.levels.back().divide == Divide::chunks &&
              d.levels.back().count < block)
            continue;  // never a whole step
          plan.levels = d.levels;
          plan.residue = d.residue;
          consider(plan, compile(plan, slots));
        }
      }
      if (!survivors_.empty() && lengths.front() != 1)
        return;  // few ones counted: other lengths may fit as well
    }
  }

  // A short first tile is none where every chain is whole tiles.
  static bool leaves_residue(const Division& d, std::int64_t places) {
    if (d.levels.empty()) return places % d.residue != 0;
    if (d.levels.size() > 1 || d.levels[0].divide != Divide::chunks) return true;
    return d.levels[0].count % d.residue != 0 || places % d.levels[0].count % d.residue != 0;
  }

  void read_tree(Masks& masks) {
    const std::int64_t spare = launches_left() - kSumLaunches - kPairLaunches - options_.random_launches;
    MaskSet measured;
    if (spare > 0) tree_ = reveal_tree(masks, bench_.terms(), spare, measured);
    if (!measured.pairs.empty()) sets_.push_back(std::move(measured));
    if (!tree_) return;
    result_.tree = to_text(*tree_);
    std::fill(covered_.begin(), covered_.end(), true);
  }

  // The tree itself as a plan.
  void take_tree() {
    int widest = 1;
    for (const TreeNode& n : tree_->nodes) {
      const auto is_leaf = [&](int c) {
        return tree_->nodes[static_cast<std::size_t>(c)].kind == NodeKind::leaf;
      };
      if (n.children.size() > 2)
        widest =
            std::max(widest, static_cast<int>(std::count_if(n.children.begin(), n.children.end(), is_leaf)));
    }
    const std::string arithmetic =
        widest > 1 ? fmt::format("bf16 | block {} frac 25 rz", widest) : "fp32 | fma";
    try {
      const auto plan = parse_plan(arithmetic + " | order tree " + to_text(*tree_));
      survivors_.assign(1, {*plan, compile(*plan, axes_), block_terms_of(*plan)});
    } catch (const Error& e) {
      result_.notes.push_back(fmt::format("the tree was read but is no plan: {}", e.what()));
    }
  }

  // Masks do not tell which of two products comes first, but an FMA rounds only the first: for every sum of
  // two products, one way round or the other leaves 2^-2h of -(1 + 2^(1-h)) + (1 + 2^-h)^2.
  void order_pairs() {
    if (!tree_ || survivors_.empty() || survivors_[0].plan.order.kind != OrderKind::tree ||
        survivors_[0].block_terms > 1)
      return;
    std::vector<TreeNode*> nodes;
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (TreeNode& n : tree_->nodes) {
      if (n.children.size() != 2) continue;
      const TreeNode& x = tree_->nodes[static_cast<std::size_t>(n.children[0])];
      const TreeNode& y = tree_->nodes[static_cast<std::size_t>(n.children[1])];
      if (x.kind != NodeKind::leaf || y.kind != NodeKind::leaf) continue;
      nodes.push_back(&n);
      pairs.emplace_back(x.term, y.term);
    }
    if (launches_left() - kSumLaunches - options_.random_launches < bench_.launches_for(std::ssize(pairs), 1))
      return;
    const std::vector<bool> backwards = second_is_fused(bench_, pairs, true);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (backwards[i]) std::swap(nodes[i]->children[0], nodes[i]->children[1]);
    take_tree();
    result_.tree = to_text(*tree_);
  }

  // Terms added one after another in the longest chain, in that order.
  std::vector<std::int64_t> longest_chain(const Program& p) const {
    const Op* best = nullptr;
    for (const Op& op : p.ops)
      if ((op.kind == OpKind::chain || op.kind == OpKind::extend) &&
          (!best || op.to - op.from > best->to - best->from))
        best = &op;
    std::vector<std::int64_t> chain;
    for (std::int64_t i = best ? best->from : 0; best && i < best->to; ++i) {
      const std::int64_t slot = p.places[static_cast<std::size_t>(i)];
      if (slot < 0) break;
      chain.push_back(slot);
    }
    return chain;
  }

  void find_arithmetic() {
    order_pairs();
    std::vector<Plan> plans;
    std::vector<ProbedArithmetic> arithmetics;
    if (survivors_.empty()) survivors_.push_back({Plan{}, compile(Plan{}, axes_), 1});
    // Numbers are probed along the first order; another step length asks again.
    std::set<int> lengths;
    const ProbedArithmetic before = result_.arithmetic;
    for (const Candidate& c : survivors_) {
      if (!lengths.insert(c.block_terms).second) continue;
      if (lengths.size() > 1 && launches_left() < kSumLaunches + options_.random_launches) break;
      ProbedArithmetic seen = before;
      probe_sums(bench_, longest_chain(c.program), c.block_terms, seen);
      for (const Plan& plan : plans_for(seen, c.block_terms)) {
        plans.push_back(plan);
        arithmetics.push_back(seen);
      }
    }
    const std::size_t best = falsify(plans);
    if (best < plans.size()) result_.arithmetic = arithmetics[best];
  }

  // Plans in which the operands are shortened least come first.
  std::vector<Plan> plans_for(const ProbedArithmetic& seen, int block_terms) const {
    constexpr std::size_t kMostPlans = 24;
    const std::vector<OperandFormat> as_stored{OperandFormat::fp32};
    std::vector<Plan> plans;
    for (const OperandFormat a : seen.a.empty() ? as_stored : seen.a)
      for (const OperandFormat b : seen.b.empty() ? as_stored : seen.b)
        for (const Arithmetic& arithmetic : arithmetics_of(seen))
          for (const Candidate& order : survivors_) {
            if (order.block_terms != block_terms || plans.size() == kMostPlans) continue;
            Plan plan = order.plan;
            plan.operands = {a, b, {}};
            plan.arithmetic = arithmetic;
            plan.out = bench_.target().out;
            plan.bias = BiasPlace::last;
            plans.push_back(plan);
          }
    return plans;
  }

  // Random operands, every output, every plan still standing; which one agrees most.
  std::size_t falsify(const std::vector<Plan>& plans) {
    const Contraction& c = bench_.target().contraction;
    std::vector<std::int64_t> agreeing_outputs(plans.size());
    std::vector<std::uint32_t> got(static_cast<std::size_t>(c.outputs())), want(got.size());
    for (int launch = 0; launch < options_.random_launches; ++launch) {
      const Tensor a = random(c.a_size, launch), b = random(std::max<std::int64_t>(c.b_size, 1), launch);
      Tensor bias = make_tensor(DType::f32, {std::max<std::int64_t>(c.bias_size, 1)});
      std::memset(bias.data.get(), 0, bias.view().bytes());
      const Operands operands{a.view(), b.view(), bias.view()};
      bench_.run_all(operands, got.data());
      result_.outputs += c.outputs();
      for (std::size_t i = 0; i < plans.size(); ++i) {
        replay(plans[i], c, operands, 0, c.outputs(), want.data(), options_.threads);
        for (std::size_t o = 0; o < got.size(); ++o) agreeing_outputs[i] += got[o] == want[o];
      }
    }
    const auto best = std::max_element(agreeing_outputs.begin(), agreeing_outputs.end());
    const auto which = static_cast<std::size_t>(best - agreeing_outputs.begin());
    if (best == agreeing_outputs.end()) return which;
    result_.outputs_agreeing = *best;
    result_.plan = to_string(plans[which]);
    if (std::count(agreeing_outputs.begin(), agreeing_outputs.end(), *best) > 1 && *best == result_.outputs)
      result_.notes.push_back("several plans give every bit; this one shortens least");
    return which;
  }

  // Full significands of either sign; in later launches exponents spread over a few binades.
  Tensor random(std::int64_t n, int launch) {
    const DType in = bench_.target().in;
    Tensor t = make_tensor(in, {n});
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t raw = rng_();
      double x = 1 + static_cast<double>(raw >> 40) * 0x1p-24;
      if (raw & 1) x = -x;
      x = std::ldexp(x, -static_cast<int>(raw >> 1 & (launch % 2 ? 7 : 1)));
      const std::uint64_t bits = round_to_bits(in, x);
      const auto each = static_cast<std::size_t>(size_of(in));
      std::memcpy(static_cast<char*>(t.data.get()) + static_cast<std::size_t>(i) * each, &bits, each);
    }
    return t;
  }

  const ProbeOptions& options_;
  ProbeBench bench_;
  std::vector<NamedExtent> axes_;
  std::mt19937_64 rng_;
  ProbeResult result_;
  std::vector<Candidate> survivors_;
  std::vector<MaskSet> sets_;
  std::optional<SummationTree> tree_;
  std::vector<bool> covered_;
};

}  // namespace

ProbeResult probe(const ProbeTarget& target, const ProbeOptions& options) {
  if (!target.run) throw Error("probe: nothing to call");
  if (target.in == DType::f64 || target.out == DType::f64)
    throw Error("probe: fp64 operands or outputs are not probed: use fp32, bf16 or fp16");
  return Prober(target, options).run();
}

}  // namespace ulpscope
