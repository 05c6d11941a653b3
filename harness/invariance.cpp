#include "harness/invariance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "harness/statistics/element_source.hpp"
#include "harness/statistics/error_model.hpp"
#include "harness/statistics/order_bound.hpp"
#include "reference/counted.hpp"
#include "reference/error.hpp"
#include "reference/plan/program.hpp"
#include "reference/replay/scalar.hpp"
#include "reference/search/search.hpp"

namespace ulpscope {
namespace {

std::int64_t place(const ObservedRun& run, std::int64_t i) {
  return run.at.empty() ? i : run.at[static_cast<std::size_t>(i)];
}

std::int64_t common_outputs(const std::vector<ObservedRun>& runs) {
  if (runs.size() < 2) throw Error("invariance: one run shows nothing: give at least two");
  std::int64_t n = -1;
  for (const ObservedRun& r : runs) {
    if (r.output.size() != r.contraction->outputs())
      throw Error(fmt::format("invariance: '{}' has {} outputs, but its call makes {}", r.label,
                              r.output.size(), r.contraction->outputs()));
    const std::int64_t mine = r.at.empty() ? r.output.size() : static_cast<std::int64_t>(r.at.size());
    if (n >= 0 && mine != n)
      throw Error(
          fmt::format("invariance: '{}' gives {} common outputs, the first run {}", r.label, mine, n));
    if (r.output.dtype != runs.front().output.dtype)
      throw Error("invariance: '" + r.label + "' is stored in another format than the first run");
    for (const std::int64_t o : r.at)
      if (o < 0 || o >= r.output.size())
        throw Error(fmt::format("invariance: '{}' has no output {}", r.label, o));
    n = mine;
  }
  return n;
}

double magnitude_of(TermGather& t, const Contraction& c, std::int64_t o) {
  t.load(o);
  double s = std::fabs(t.bias);
  for (std::size_t i = 0; i < t.n; ++i) s += std::fabs(t.a[i] * t.b[i]);
  return s / c.divisor * (1 + static_cast<double>(t.n + 1) * 0x1p-52);
}

constexpr std::int64_t kEnough = 4096;

// The plan of one run, from at most a few thousand of the common outputs.
std::string plan_of(const ObservedRun& run, std::int64_t n, const InvarianceOptions& options) {
  Observation seen;
  seen.dtype = run.output.dtype;
  for (std::int64_t i = 0; i < n; i += std::max<std::int64_t>(1, n / kEnough))
    seen.outputs.push_back(place(run, i));
  std::sort(seen.outputs.begin(), seen.outputs.end());
  seen.outputs.erase(std::unique(seen.outputs.begin(), seen.outputs.end()), seen.outputs.end());
  for (const std::int64_t o : seen.outputs)
    seen.bits.push_back(static_cast<std::uint32_t>(run.output.bits_at(o)));
  SearchOptions search;
  search.seconds = options.search_seconds;
  search.threads = options.threads;
  const SearchResult found = find_plans(*run.contraction, run.operands, seen, search);
  return found.plans.empty() ? "" : found.plans.front();
}

// What two orders of one sum are expected to differ by at most: a chain and the same chain backwards.
double expected_spread(const ObservedRun& run, const InvarianceOptions& options) {
  Plan chain = options.arithmetic;
  chain.order = {};
  chain.levels.clear();
  Plan back = chain;
  back.order.reversed = true;
  ModelOptions model;
  model.max_terms = std::int64_t{1} << 19;
  model.threads = options.threads;
  const double expected =
      expected_max_abs(model_difference(chain, back, *run.contraction, model_data(run.operands), model));
  return std::isfinite(expected) ? expected : 0;
}

std::string circumstance_text(Circumstance c) {
  switch (c) {
    case Circumstance::repeat:
      return "repeats of the call";
    case Circumstance::batch_size:
      return "batch sizes";
    case Circumstance::batch_position:
      return "positions in the batch";
    case Circumstance::layout:
      return "layouts";
    case Circumstance::zero_padding:
      return "amounts of zero padding";
    case Circumstance::launch_shape:
      return "launch shapes";
  }
  return "";
}

std::string explain(const InvarianceReport& r) {
  const std::string what = fmt::format("{} {}", r.runs, circumstance_text(r.circumstance));
  if (r.same_bits)
    return fmt::format("The {} give the same bits for {}{}.", what, r.outputs == 1 ? "" : "all ",
                       counted(r.outputs, "output"));
  std::string s = fmt::format("The {} differ in {} of {} outputs, by at most {:.3g}", what, r.differing,
                              r.outputs, r.spread);
  if (r.nonfinite_differing > 0)
    s += fmt::format(" ({} of them finite in one run and not in another)", r.nonfinite_differing);
  if (r.beyond_order == 0) {
    s += fmt::format(
        "; two orders of additions are expected to differ by up to {:.2g} and cannot by more than {:.2g}",
        r.expected_spread, r.order_bound);
    s += r.suspicious ? ": possible for an order, but so much larger than expected that a race or another "
                        "arithmetic is likelier"
         : r.circumstance == Circumstance::repeat
             ? ": the order changes from run to run (nondeterministic), nothing worse"
             : ": another order of additions accounts for it";
  } else {
    s += fmt::format(", {:.3g} times what order can do in {} outputs", r.headroom, r.beyond_order);
    if (r.race)
      s += ": a race, not rounding";
    else if (r.circumstance == Circumstance::launch_shape)
      s += ": a race, or an index or an arithmetic that follows the launch, not rounding";
    else if (r.plans_differ)
      s += ": the runs use different arithmetic";
    else
      s += ": another arithmetic (operand rounding) or a mistake, not another order";
  }
  s += ".";
  if (r.plans_differ) {
    s += " Plans:";
    for (std::size_t i = 0; i < r.plans.size(); ++i)
      s += fmt::format("{} {}: {}", i ? ";" : "", r.labels[i], r.plans[i].empty() ? "not found" : r.plans[i]);
    s += ".";
  }
  return s;
}

}  // namespace

const char* to_string(Circumstance c) {
  constexpr const char* kNames[] = {"repeat", "batch_size",   "batch_position",
                                    "layout", "zero_padding", "launch_shape"};
  return kNames[static_cast<std::size_t>(c)];
}

std::optional<std::string> sequence_that_gives(const Plan& arithmetic, const Contraction& c,
                                               const Operands& operands, std::int64_t o, std::uint32_t bits) {
  const std::vector<Term> terms = terms_of(c, o);
  constexpr std::size_t kMost = 8;  // 40,320 orders
  if (terms.empty() || terms.size() > kMost || static_cast<std::int64_t>(terms.size()) != c.terms() ||
      !arithmetic.operands.passes.empty() || arithmetic.arithmetic.step == Step::block)
    return {};
  std::vector<std::int64_t> order(terms.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    std::string text = std::to_string(order[0]);
    for (std::size_t i = 1; i < order.size(); ++i) text = fmt::format("({} {})", text, order[i]);
    Plan plan = arithmetic;
    plan.levels.clear();
    plan.order = {};
    if (order.size() > 1) {
      // Node 0 is the root; node i (i < n-1) adds the i-th last leaf to node i+1; the innermost has two
      // leaves.
      plan.order.kind = OrderKind::tree;
      const int inner = static_cast<int>(order.size()) - 1;
      plan.order.tree.resize(static_cast<std::size_t>(inner));
      for (int i = 0; i < inner; ++i) {
        auto leaf = [&](std::int64_t term) {
          ExplicitNode n;
          n.leaf = term;
          plan.order.tree.push_back(n);
          return static_cast<int>(plan.order.tree.size()) - 1;
        };
        const int last = leaf(order[order.size() - 1 - static_cast<std::size_t>(i)]);
        const int first = i + 1 < inner ? i + 1 : leaf(order[0]);
        plan.order.tree[static_cast<std::size_t>(i)].children = {first, last};
      }
    }
    const Program program = compile(plan, reduction_axes(c));
    ScalarReplay replay_one(plan, program, c, operands);
    if (replay_one(o) == bits) return text;
  } while (std::next_permutation(order.begin(), order.end()));
  return {};
}

InvarianceReport compare_runs(Circumstance circumstance, const std::vector<ObservedRun>& runs,
                              const InvarianceOptions& options) {
  InvarianceReport report;
  report.circumstance = circumstance;
  report.runs = static_cast<std::int64_t>(runs.size());
  report.outputs = common_outputs(runs);
  for (const ObservedRun& r : runs) report.labels.push_back(r.label);
  report.plans.resize(runs.size());
  const ObservedRun& base = runs.front();
  std::optional<OrderBound> bound;  // computed once something differs
  const ModelData data = model_data(base.operands);
  TermGather terms(*base.contraction, data);
  for (std::int64_t i = 0; i < report.outputs; ++i) {
    const std::uint64_t bits = base.output.bits_at(place(base, i));
    double low = HUGE_VAL, high = -HUGE_VAL;
    bool differs = false, mixed = false;
    for (const ObservedRun& r : runs) {
      const std::int64_t at = place(r, i);
      const double value = r.output.at(at), first = base.output.at(place(base, i));
      differs |= r.output.bits_at(at) != bits;
      mixed |= std::isfinite(value) != std::isfinite(first) ||
               (!std::isfinite(first) && !(value == first) && !(std::isnan(value) && std::isnan(first)));
      low = std::min(low, value);
      high = std::max(high, value);
    }
    if (!differs) continue;
    if (report.first_differing < 0) report.first_differing = i;
    ++report.differing;
    if (!bound)
      bound = any_order_bound(options.arithmetic, *base.contraction, base.operands, options.threads);
    const double allowed = 2 * bound->at(magnitude_of(terms, *base.contraction, place(base, i)));
    report.order_bound = std::max(report.order_bound, allowed);
    if (mixed) {
      ++report.nonfinite_differing;
      report.beyond_order += std::isfinite(allowed);
      continue;
    }
    const double spread = std::isfinite(high - low) ? high - low : 0;
    report.spread = std::max(report.spread, spread);
    if (spread > allowed) ++report.beyond_order;
    if (spread > 0) report.headroom = std::max(report.headroom, spread / allowed);
  }
  report.same_bits = report.differing == 0;
  if (!report.same_bits) {
    for (const ObservedRun& r : runs) {  // who gave which value
      const std::int64_t at = place(r, report.first_differing);
      const double value = r.output.at(at);
      auto known = std::find_if(report.values.begin(), report.values.end(), [&](const ObservedValue& v) {
        return std::bit_cast<std::uint64_t>(v.value) == std::bit_cast<std::uint64_t>(value);
      });
      if (known == report.values.end()) {
        Plan sum = options.arithmetic;
        sum.out = r.output.dtype;
        report.values.push_back({value,
                                 {},
                                 sequence_that_gives(sum, *r.contraction, r.operands, at,
                                                     static_cast<std::uint32_t>(r.output.bits_at(at)))
                                     .value_or("")});
        known = report.values.end() - 1;
      }
      known->runs.push_back(r.label);
    }
    if (options.search_seconds > 0)
      for (std::size_t i = 0; i < runs.size(); ++i)
        report.plans[i] = plan_of(runs[i], report.outputs, options);
    report.plans_account = report.outputs < 2 * kEnough;
    for (const std::string& p : report.plans) report.plans_account = report.plans_account && !p.empty();
    for (const std::string& p : report.plans) report.plans_differ |= p != report.plans.front();
    report.expected_spread = expected_spread(base, options);
    report.suspicious =
        report.beyond_order == 0 && report.expected_spread > 0 && report.spread > 10 * report.expected_spread;
    report.race = circumstance == Circumstance::repeat && report.beyond_order > 0;
  }
  report.sentence = explain(report);
  return report;
}

}  // namespace ulpscope
