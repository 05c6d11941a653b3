#include "reference/search/search.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <unordered_map>

#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reference/plan.hpp"
#include "reference/search/candidate.hpp"
#include "reference/search/family.hpp"
#include "reference/search/operand_fit.hpp"
#include "reference/search/sample.hpp"
#include "reference/terms.hpp"

namespace ulpscope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kScreened = 48;  // outputs every candidate is first tried on, in the order of their use
constexpr std::int64_t kMostUnordered = 16;  // parts whose every order can be checked
constexpr std::size_t kRun = 1 << 14;        // outputs replayed between two looks at the clock
constexpr std::size_t kMostPlans = 64;       // fits beyond this many say no more than "not unique"

class Search {
 public:
  Search(const Contraction& c, const Operands& operands, const Observation& seen,
         const SearchOptions& options)
      : c_(c),
        operands_(operands),
        seen_(seen),
        options_(options),
        axes_(reduction_axes(c)),
        start_(Clock::now()) {}

  SearchResult operator()() {
    if (seen_.outputs.empty() || seen_.outputs.size() != seen_.bits.size())
      throw Error("search: give at least one observed output, and one bit pattern for each");
    choose_sample();
    result_.operands = rank_operands(c_, operands_, seen_, sample_, options_.operands);
    for (const std::string& hint : options_.hints) {
      try_hint(hint);
      take_found();
    }
    timed_ = true;
    if (result_.plans.empty() || !options_.hints.empty()) {
      // Candidates that leave no room for doubt first: a tier is walked whole, so that `unique` means
      // something.
      // Undivided sums first: where the data tells little, each division that fits costs a full replay.
      walk(0, false);
      if (!enough()) walk(0, true);
      if (result_.plans.empty()) walk_tiles();
      if (result_.plans.empty()) walk(1, true);
    }
    if (result_.plans.empty() && seen_.dtype == DType::f32) walk_unordered();
    result_.exhausted = !late_;
    result_.unique = result_.plans.size() == 1 && !result_.rounded_exact_fits && result_.exhausted &&
                     !options_.confirm && seen_.outputs.size() >= kFewOutputs;
    result_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    return std::move(result_);
  }

 private:
  // Asked in every inner loop; any thread may. Hints are tried in any case.
  bool late() {
    if (timed_ && !late_ && std::chrono::duration<double>(Clock::now() - start_).count() >= options_.seconds)
      late_ = true;
    return late_;
  }

  // Spread over the whole range, deterministic; where the correctly rounded exact result differs from what
  // was seen an output tells plans apart (of 16-bit results only those do), so these come first.
  void choose_sample() {
    const std::size_t n = seen_.outputs.size();
    std::vector<std::size_t> pool(std::min<std::size_t>(n, 1 << 14));
    for (std::size_t i = 0; i < pool.size(); ++i)
      pool[i] = i * (n / pool.size()) + (n % pool.size()) * i / pool.size();
    std::mt19937_64 rng(12);
    std::shuffle(pool.begin(), pool.end(), rng);
    std::vector<std::size_t> telling, silent;
    bool all_fit = true;
    for (const std::size_t i : pool) {
      const bool fits = rounded_sum(seen_.outputs[i]) == seen_.bits[i];
      all_fit &= fits;
      (fits ? silent : telling).push_back(i);
      if (telling.size() >= 2 * kScreened && silent.size() >= kScreened) break;
    }
    result_.rounded_exact_fits = all_fit;
    sample_.assign(telling.begin(), telling.begin() + static_cast<std::ptrdiff_t>(
                                                          std::min(telling.size(), kScreened * 3 / 4)));
    for (const std::size_t i : silent)
      if (sample_.size() < kScreened) sample_.push_back(i);
    for (std::size_t i = kScreened * 3 / 4; i < telling.size() && sample_.size() < kScreened; ++i)
      sample_.push_back(telling[i]);
    result_.outputs_screened = static_cast<std::int64_t>(sample_.size());
  }

  // The fp64 sum of the stored operands' products, rounded once: it only chooses a sample, so it needs no
  // certificate.
  std::uint64_t rounded_sum(std::int64_t output) const {
    double sum = c_.has_bias ? operands_.bias.at(bias_index(c_, output)) : 0;
    for_each_term(c_, output, [&](std::int64_t ia, std::int64_t ib, std::int64_t) {
      sum += operands_.a.at(ia) * (c_.b_is_ones ? 1.0 : operands_.b.at(ib));
    });
    return round_to_bits(seen_.dtype, sum / c_.divisor);
  }

  const std::vector<SampledOutput>& samples(OperandFormat a, OperandFormat b) {
    auto& list = samples_[{a, b}];
    if (list.empty())
      for (const std::size_t i : sample_)
        list.push_back(sample_output(c_, operands_, a, b, seen_.outputs[i], seen_.bits[i]));
    return list;
  }

  void try_hint(const std::string& text) {
    Candidate candidate{*parse_plan(text), {}};
    candidate.plan.out = seen_.dtype;
    if (candidate.plan.operands.pass_count() > 1 || candidate.plan.arithmetic.accumulator == DType::f64 ||
        has_tiles(candidate.plan)) {
      confirm(candidate);  // what the screening loop does not cover
      return;
    }
    candidate.program = compile(candidate.plan, axes_);
    consider(candidate, samples(candidate.plan.operands.a, candidate.plan.operands.b));
  }

  void walk(int tier, bool divided) {
    double least = -1;
    for (const OperandFit& fit : result_.operands) {
      if (!fit.admissible) continue;
      // Another rounding of the same operands leaves a far larger residual, unless the data cannot tell them
      // apart.
      if (least < 0) least = fit.residual;
      if (tier == 0 && fit.residual > 8 * least + 1) continue;
      for (const Arithmetic& arithmetic : arithmetics(fit.a, fit.b, tier, options_.block_terms)) {
        if (late()) return;
        walk(fit, arithmetic, tier, divided);
        if (enough()) return;
      }
    }
  }

  // Where everything fits, more fits say nothing; a plan that passed the caller's test settles it.
  bool enough() const {
    return !(result_.plans.empty() && found_.empty()) && (result_.rounded_exact_fits || options_.confirm);
  }

  // Settled by a candidate of a lower rank: by one of a higher rank it is not, or the plan named would be the
  // fastest thread's.
  bool settled_before(std::int64_t rank) const {
    return enough() && (!result_.plans.empty() || std::any_of(found_.begin(), found_.end(),
                                                              [&](const Found& f) { return f.rank < rank; }));
  }
  bool full() const { return result_.plans.size() + found_.size() >= kMostPlans; }

  void walk(const OperandFit& fit, const Arithmetic& arithmetic, int tier, bool divided) {
    const std::vector<SampledOutput>& outputs = samples(fit.a, fit.b);
    const bool block = arithmetic.step == Step::block;
    const int step_terms = block ? arithmetic.block.terms : 1;
    const bool plain = arithmetic.step == Step::fma || block;
    for (int order_tier = 0; order_tier <= tier; ++order_tier)
      for (const Order& order : orders(axes_, block, order_tier)) {
        if (late()) return;
        const Slots slots = lay_out(order, axes_, 1);
        std::vector<Division> ways =
            divisions(static_cast<std::int64_t>(slots.slot.size()), slots.outermost_step, step_terms, 0);
        if (tier > 0) {
          const auto more =
              divisions(static_cast<std::int64_t>(slots.slot.size()), slots.outermost_step, step_terms, 1);
          ways.insert(ways.end(), more.begin(), more.end());
        }
        if (!divided) std::erase_if(ways, [](const Division& way) { return !way.levels.empty(); });
        if (seen_.dtype != DType::f32) with_short_partials(ways);
        // Products rounded by themselves: where threads sum vectors of them, and, if nothing else fits, in
        // chains. Compensated and wide sums: in chains only, before anything fancier.
        if (arithmetic.step == Step::mul_add && arithmetic.accumulator == DType::f32)
          std::erase_if(ways, [&](const Division& way) {
            return way.levels.empty() ? tier == 0 : way.levels.size() < 2 || way.levels.back().unit < 2;
          });
        else if (!plain)
          ways.resize(1);
        parallel_for(static_cast<std::int64_t>(ways.size()), options_.threads, [&](std::int64_t i) {
          {
            const std::lock_guard lock(guard_);
            if (late() || (options_.confirm && settled_before(i)) || full()) return;
          }
          const Division& way = ways[static_cast<std::size_t>(i)];
          Candidate candidate;
          candidate.plan.operands.a = fit.a;
          candidate.plan.operands.b = fit.b;
          candidate.plan.arithmetic = arithmetic;
          candidate.plan.order = order;
          candidate.plan.levels = way.levels;
          candidate.plan.residue = way.residue;
          candidate.plan.interleave = way.interleave;
          candidate.rank = i;
          candidate.plan.out = seen_.dtype;
          candidate.program = compile(candidate.plan, slots);
          consider(candidate, outputs);
        });
        take_found();
        if (enough()) return;
      }
  }

  // A split whose workspace has the output's 16-bit format rounds each partial sum to it.
  void with_short_partials(std::vector<Division>& ways) const {
    for (std::size_t i = 0, n = ways.size(); i < n; ++i) {
      if (ways[i].levels.size() != 1 || ways[i].levels[0].join != Join::seq) continue;
      Division shortened = ways[i];
      shortened.levels[0].as = seen_.dtype;
      ways.push_back(shortened);
    }
  }

  // Partial sums joined by atomics have no bits to predict, but only so many they can give: every output must
  // be one that some order of the parts gives (checked on the sample).
  // Few parts first: the more there are, the more values some order of them gives, and the less a fit says
  // (and each part doubles the work).
  void walk_unordered() {
    const bool fp32 = std::any_of(result_.operands.begin(), result_.operands.end(), [](const OperandFit& f) {
      return f.admissible && f.a == OperandFormat::fp32 && f.b == OperandFormat::fp32;
    });
    if (!fp32 || any_unaccountable()) return;
    const std::vector<Order> all = orders(axes_, false, 0);
    for (std::int64_t parts = 2; parts <= kMostUnordered; ++parts)
      for (const Order& order : all) {
        const Slots slots = lay_out(order, axes_, 1);
        const auto places = static_cast<std::int64_t>(slots.slot.size());
        for (std::int64_t length = slots.outermost_step; length < places; length += slots.outermost_step) {
          if ((places + length - 1) / length != parts) continue;
          if (late()) return;
          if (gives_in_some_order(order, length)) return;
        }
      }
  }

  // NaN or infinity for a sum far from overflow: no order gives that, however many are tried.
  bool any_unaccountable() const {
    for (std::size_t i = 0; i < seen_.bits.size(); ++i)
      if (!std::isfinite(value_of_bits(seen_.dtype, seen_.bits[i])))
        return std::fabs(value_of_bits(seen_.dtype, rounded_sum(seen_.outputs[i]))) < 0x1p100;
    return false;
  }

  // Kernels that walk over A's image tile by tile add what each tile brings. Outputs differ in how their taps
  // share tiles, so these plans have no one program: they are replayed output by output.
  void walk_tiles() {
    const std::vector<TiledPlan> plans = tilings(c_, seen_.dtype);
    for (const OperandFit& fit : result_.operands) {
      if (!fit.admissible) continue;
      parallel_for(std::ssize(plans), options_.threads, [&](std::int64_t i) {
        const TiledPlan& way = plans[static_cast<std::size_t>(i)];
        Candidate candidate;
        candidate.plan.operands.a = fit.a;
        candidate.plan.operands.b = fit.b;
        candidate.plan.order = way.order;
        candidate.plan.levels = way.levels;
        candidate.plan.out = seen_.dtype;
        candidate.rank = i;
        {
          const std::lock_guard lock(guard_);
          if (late() || settled_before(i) || full()) return;
          ++result_.candidates;
        }
        screen(candidate, sample_.size(), [&](std::size_t k) {
          const std::size_t at = sample_[k];
          std::uint32_t bits = 0;
          replay(candidate.plan, c_, operands_, seen_.outputs[at], 1, &bits, 1);
          return same(bits, seen_.bits[at]);
        });
      });
      take_found();
      if (!result_.plans.empty()) return;
    }
  }

  bool gives_in_some_order(const Order& order, std::int64_t length) {
    Plan plan;
    plan.order = order;
    plan.out = seen_.dtype;
    Level level;
    level.divide = Divide::chunks;
    level.count = length;
    level.join = Join::unordered;
    plan.levels = {level};
    ++result_.candidates;
    const bool all = std::all_of(sample_.begin(), sample_.end(), [&](std::size_t i) {
      return reachable(plan, c_, operands_, seen_.outputs[i], seen_.bits[i], [&] { return late(); });
    });
    if (all) result_.unordered_plan = to_string(plan);
    return all;
  }

  void consider(const Candidate& candidate, const std::vector<SampledOutput>& outputs) {
    const std::uint64_t hash = hash_of(candidate);
    {
      const std::lock_guard lock(guard_);
      // The same program twice, side by side: whichever came first is tried, under the simpler one's name.
      const auto [at, fresh] = tried_.insert({hash, {walked_, candidate.rank, {}}});
      if (!fresh) {
        if (at->second.walk == walked_ && candidate.rank < at->second.rank)
          at->second = {walked_, candidate.rank, candidate.plan};
        return;
      }
      ++result_.candidates;
    }
    thread_local std::vector<double> registers;
    screen(candidate, outputs.size(), [&](std::size_t i) {
      return run(candidate.plan, candidate.program, c_, outputs[i], registers) == outputs[i].seen;
    });
  }

  // On the sample, output by output; what gives all of them is confirmed.
  template <class Agrees>
  void screen(const Candidate& candidate, std::size_t outputs, Agrees agrees) {
    std::size_t equal = 0;
    const double to_beat = best_share_.load();
    for (std::size_t seen = 1; seen <= outputs; ++seen) {
      if (late()) return;
      equal += agrees(seen - 1);
      // A wrong plan agrees now and then: go on while at least a third agrees, so that the best partial fit
      // is known.
      const std::size_t most = equal + outputs - seen;
      if (most < outputs && static_cast<double>(most) <= to_beat * static_cast<double>(outputs)) return;
      if (seen >= 4 && 3 * equal < seen) return;
    }
    if (equal == outputs) {
      confirm(candidate);
    } else {
      const std::lock_guard lock(guard_);
      note_share(static_cast<double>(equal) / static_cast<double>(outputs), candidate.plan);
    }
  }

  // What was found side by side, in the order of the family: candidates are begun in that order and those
  // begun are finished, so the first is the same for any number of threads.
  void take_found() {
    for (Found& f : found_) {
      const auto tried = tried_.find(f.hash);
      if (tried == tried_.end() || !tried->second.simpler) continue;
      f.rank = tried->second.rank;
      f.plan = to_string(*tried->second.simpler);
    }
    std::sort(found_.begin(), found_.end(), [](const Found& x, const Found& y) { return x.rank < y.rank; });
    for (Found& f : found_)
      if (result_.plans.size() < kMostPlans) result_.plans.push_back(std::move(f.plan));
    found_.clear();
    ++walked_;
  }

  void note_share(double share, const Plan& plan) {
    if (share <= result_.best_share) return;
    result_.best_share = share;
    best_share_ = share;
    result_.best_plan = to_string(plan);
  }

  // Replay of every observed output, run by run of consecutive ones.
  void confirm(const Candidate& candidate) {
    std::vector<std::uint32_t> bits(seen_.outputs.size());
    for (std::size_t from = 0; from < bits.size();) {
      std::size_t to = from + 1;
      while (to < bits.size() && to - from < kRun && seen_.outputs[to] == seen_.outputs[to - 1] + 1) ++to;
      if (late()) return;
      replay(candidate.plan, c_, operands_, seen_.outputs[from], static_cast<std::int64_t>(to - from),
             &bits[from], 1);
      from = to;
    }
    std::size_t equal = 0;
    for (std::size_t i = 0; i < bits.size(); ++i) equal += same(bits[i], seen_.bits[i]);
    const bool passed = equal == bits.size() && (!options_.confirm || options_.confirm(candidate.plan));
    const std::lock_guard lock(guard_);
    result_.outputs_confirmed = static_cast<std::int64_t>(bits.size());
    note_share(static_cast<double>(equal) / static_cast<double>(bits.size()), candidate.plan);
    if (passed)
      found_.push_back(
          {candidate.rank, has_tiles(candidate.plan) ? 0 : hash_of(candidate), to_string(candidate.plan)});
    if (equal == bits.size() && !passed && result_.refuted++ == 0)
      result_.refuted_plan = to_string(candidate.plan);
  }

  // NaN by class: payloads are not part of a plan.
  bool same(std::uint32_t x, std::uint32_t y) const {
    return x == y || (std::isnan(value_of_bits(seen_.dtype, x)) && std::isnan(value_of_bits(seen_.dtype, y)));
  }

  const Contraction& c_;
  const Operands& operands_;
  const Observation& seen_;
  const SearchOptions& options_;
  const std::vector<NamedExtent> axes_;
  const Clock::time_point start_;
  std::vector<std::size_t> sample_;  // indices into seen_
  std::map<std::pair<OperandFormat, OperandFormat>, std::vector<SampledOutput>> samples_;
  struct Tried {
    std::int64_t walk = 0, rank = 0;
    std::optional<Plan> simpler;  // the same program by a plan of a lower rank, met while it was tried
  };
  std::unordered_map<std::uint64_t, Tried> tried_;  // by hash_of
  std::int64_t walked_ = 0;                         // how often take_found was called
  std::mutex guard_;
  std::atomic<double> best_share_{0};
  std::atomic<bool> late_{false};
  bool timed_ = false;
  struct Found {
    std::int64_t rank = 0;
    std::uint64_t hash = 0;
    std::string plan;
  };
  std::vector<Found> found_;  // until take_found
  SearchResult result_;
};

}  // namespace

Observation observe(const TensorView& output, std::int64_t begin) {
  Observation seen;
  seen.dtype = output.dtype;
  for (std::int64_t i = 0; i < output.size(); ++i) {
    seen.outputs.push_back(begin + i);
    seen.bits.push_back(static_cast<std::uint32_t>(output.bits_at(i)));
  }
  return seen;
}

SearchResult find_plans(const Contraction& c, const Operands& operands, const Observation& seen,
                        const SearchOptions& options) {
  return Search(c, operands, seen, options)();
}

}  // namespace ulpscope
