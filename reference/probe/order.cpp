#include "reference/probe/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reference/error.hpp"
#include "reference/probe/numbers.hpp"

namespace ulpscope {
namespace {

int block_terms_of(const Plan& plan) {
  return plan.arithmetic.step == Step::block ? plan.arithmetic.block.terms : 1;
}

std::int64_t side_of(const ProbeBench& bench, std::int64_t places) {
  return std::max<std::int64_t>(1, std::min({places, bench.terms(), std::int64_t{256}}));
}

bool agrees(const Candidate& c, const MaskSet& set) {
  return agreeing(c.program, c.block_terms, set, true) == std::ssize(set.pairs);
}

// A short first tile is none where every chain is whole tiles.
bool leaves_residue(const Division& d, std::int64_t places) {
  if (d.levels.empty()) return places % d.residue != 0;
  if (d.levels.size() > 1 || d.levels[0].divide != Divide::chunks) return true;
  return d.levels[0].count % d.residue != 0 || places % d.levels[0].count % d.residue != 0;
}

}  // namespace

OrderFinder::OrderFinder(ProbeBench& bench, Masks& masks, const ProbeOptions& options, std::mt19937_64& rng,
                         ProbeResult& result)
    : bench_(bench),
      masks_(masks),
      options_(options),
      rng_(rng),
      result_(result),
      axes_(reduction_axes(bench.target().contraction)),
      covered_(static_cast<std::size_t>(bench.terms())) {}

// Terms at every distance: the first ones, then ever wider apart, then some at random.
std::vector<std::int64_t> OrderFinder::sample(std::int64_t most, std::int64_t offset, const Terms& without) {
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

// Terms that no pair has touched yet, filled up with others.
std::vector<std::int64_t> OrderFinder::uncovered(std::int64_t most, const Terms& without) {
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

MaskSet OrderFinder::measure(const Terms& rows, Terms columns) {
  if (!masks_.counts_all())  // counted terms must be left over, and rows and columns apart
    std::erase_if(columns,
                  [&](std::int64_t k) { return std::find(rows.begin(), rows.end(), k) != rows.end(); });
  MaskSet set;
  if (bench_.has_second_operand()) {
    set = masks_.grid(rows, columns, rng_());
  } else {
    std::vector<std::pair<std::int64_t, std::int64_t>> wanted;
    for (std::size_t k = 0; k < columns.size(); ++k)
      if (rows[k % rows.size()] != columns[k]) wanted.emplace_back(rows[k % rows.size()], columns[k]);
    std::sort(wanted.begin(), wanted.end());
    set = masks_.pairs(wanted);
  }
  for (const auto& p : set.pairs)
    covered_[static_cast<std::size_t>(p.i)] = covered_[static_cast<std::size_t>(p.j)] = true;
  return set;
}

void OrderFinder::find() {
  const bool alone = !bench_.has_second_operand();
  std::int64_t most_rows = side_of(bench_, bench_.rows()),
               most_columns = side_of(bench_, alone ? bench_.rows() : bench_.columns());
  if (!masks_.counts_all()) {  // leave something to count
    most_rows = std::max<std::int64_t>(1, std::min(most_rows, bench_.terms() / 3));
    most_columns = std::max<std::int64_t>(1, std::min(most_columns, bench_.terms() / 3));
  }
  most_rows = std::min(most_rows, std::max<std::int64_t>(1, bench_.terms() / 2));  // rows and columns apart
  const std::int64_t grid = alone ? bench_.rows() : bench_.rows() * bench_.columns();
  // With few terms, or few places, the tree is read at once: then every launch tells something.
  if ((bench_.terms() <= bench_.rows() || grid < 4 * bench_.terms()) && masks_.counts_all()) read_tree();
  if (sets_.empty()) {
    const std::vector<std::int64_t> rows = sample(most_rows, 0);
    sets_.push_back(measure(rows, sample(most_columns, 1, rows)));
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
    sets_.push_back(measure(rows, uncovered(most_columns, rows)));
    std::erase_if(survivors_, [&](const Candidate& c) { return !agrees(c, sets_.back()); });
    if (survivors_.empty()) select();
    if (!survivors_.empty()) closest = survivors_;
  }
  if (survivors_.empty() && !tree_) read_tree();
  if (survivors_.empty() && tree_) take_tree();
  if (survivors_.empty()) {
    result_.notes.push_back(
        "no plan agrees with all masks" +
        std::string(tree_ ? "" : ", and the launches do not suffice to read the whole tree"));
    survivors_ = closest;  // what came closest, to say how close
  }
  result_.terms_covered = std::count(covered_.begin(), covered_.end(), true);
  if (survivors_.size() > 1)
    result_.notes.push_back(fmt::format("{} different orders agree with all masks", survivors_.size()));
  for (const MaskSet& set : sets_) {
    result_.masks += std::ssize(set.pairs);
    if (!survivors_.empty())
      result_.masks_agreeing += agreeing(survivors_[0].program, survivors_[0].block_terms, set, false);
  }
}

// Orders that agree with everything measured so far.
void OrderFinder::select() {
  consider_hints();
  for (int tier = 0; tier < 2 && survivors_.empty(); ++tier) consider_family(tier);
}

void OrderFinder::consider(const Plan& plan, Program program) {
  ++result_.candidates;
  Candidate c{plan, std::move(program), block_terms_of(plan)};
  if (!std::all_of(sets_.begin(), sets_.end(), [&](const MaskSet& set) { return agrees(c, set); })) return;
  const auto same = [&](const Candidate& other) {
    return other.block_terms == c.block_terms && other.program == c.program;
  };
  if (std::none_of(survivors_.begin(), survivors_.end(), same)) survivors_.push_back(std::move(c));
}

void OrderFinder::consider_hints() {
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
std::vector<int> OrderFinder::block_lengths() const {
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

void OrderFinder::consider_family(int tier) {
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
      for (const Division& d : divisions(places, slots.outermost_step, block, tier)) {
        if (d.residue > 0 && !leaves_residue(d, places)) continue;
        if (block > 1 && !d.levels.empty() && d.levels.back().divide == Divide::chunks &&
            d.levels.back().count < block)
          continue;  // never a whole step
        plan.levels = d.levels;
        plan.residue = d.residue;
        plan.interleave = d.interleave;
        consider(plan, compile(plan, slots));
      }
    }
    if (!survivors_.empty() && lengths.front() != 1)
      return;  // few ones counted: other lengths may fit as well
  }
}

void OrderFinder::read_tree() {
  const std::int64_t spare = launches_left() - kSumLaunches - kPairLaunches - options_.random_launches;
  MaskSet measured;
  if (spare > 0) tree_ = reveal_tree(masks_, bench_.terms(), spare, measured);
  if (!measured.pairs.empty()) sets_.push_back(std::move(measured));
  if (!tree_) return;
  result_.tree = to_text(*tree_);
  std::fill(covered_.begin(), covered_.end(), true);
}

// The tree itself as a plan.
void OrderFinder::take_tree() {
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

void OrderFinder::order_pairs() {
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

}  // namespace ulpscope
