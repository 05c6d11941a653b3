#include "reference/probe/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <set>

#include "reference/error.hpp"
#include "reference/probe/numbers.hpp"
#include "reference/probe/order.hpp"

namespace ulpscope {
namespace {

class Prober {
 public:
  Prober(const ProbeTarget& target, const ProbeOptions& options)
      : options_(options), bench_(target, options.max_rows, options.max_columns), rng_(options.seed) {
    result_.terms = bench_.terms();
  }

  ProbeResult run() {
    probe_operands(bench_, result_.arithmetic);
    Masks masks(bench_, probe_scale(bench_, result_.notes));
    OrderFinder order(bench_, masks, options_, rng_, result_);
    if (bench_.terms() < 2) {
      result_.notes.push_back("one term: there is no order");
      survivors_.push_back({Plan{}, compile(Plan{}, reduction_axes(target_contraction())), 1});
    } else {
      order.find();
      order.order_pairs();
      survivors_ = order.survivors();
    }
    if (!survivors_.empty()) find_arithmetic();
    result_.launches = bench_.launches();
    result_.confirmed = !result_.plan.empty() && result_.masks == result_.masks_agreeing &&
                        result_.outputs > 0 && result_.outputs == result_.outputs_agreeing;
    return std::move(result_);
  }

 private:
  const Contraction& target_contraction() const { return bench_.target().contraction; }
  std::int64_t launches_left() const { return options_.max_launches - bench_.launches(); }

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
    std::vector<Plan> plans;
    std::vector<ProbedArithmetic> arithmetics;
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

  // Plans that agree most on the first outputs: the others need no replay of all.
  std::vector<bool> best_on_few(const std::vector<Plan>& plans, const Operands& operands,
                                const std::vector<std::uint32_t>& got) const {
    const auto few = std::min<std::int64_t>(2048, std::ssize(got));
    std::vector<std::uint32_t> want(static_cast<std::size_t>(few));
    std::vector<std::int64_t> equal;
    for (const Plan& plan : plans) {
      replay(plan, target_contraction(), operands, 0, few, want.data(), options_.threads);
      equal.push_back(std::inner_product(want.begin(), want.end(), got.begin(), std::int64_t{0},
                                         std::plus<>(), std::equal_to<>()));
    }
    std::vector<bool> standing;
    for (const std::int64_t n : equal) standing.push_back(n == *std::max_element(equal.begin(), equal.end()));
    return standing;
  }

  // A plan's text, the same for plans that cannot differ: a product that is exact, or that nothing is added
  // to before it is rounded, makes no difference between fma and mul_add.
  std::string function_of(Plan plan) const {
    if (plan.arithmetic.step != Step::mul_add) return to_string(plan);
    const bool alone = products_stand_alone(compile(plan, reduction_axes(target_contraction())));
    const int width = bench_.has_second_operand()
                          ? info(plan.operands.a).precision + info(plan.operands.b).precision
                          : info(plan.operands.a).precision;
    if (width <= info(plan.arithmetic.product).precision ||
        (alone && plan.arithmetic.product == plan.arithmetic.accumulator)) {
      plan.arithmetic.step = Step::fma;
      plan.arithmetic.product = plan.arithmetic.accumulator;
    }
    return to_string(plan);
  }

  // Random operands, every output, every plan still standing; which one agrees most.
  std::size_t falsify(const std::vector<Plan>& plans) {
    const Contraction& c = target_contraction();
    std::vector<std::int64_t> agreeing_outputs(plans.size());
    std::vector<std::uint32_t> got(static_cast<std::size_t>(c.outputs())), want(got.size());
    std::vector<bool> standing;
    for (int launch = 0; launch < options_.random_launches; ++launch) {
      const Tensor a = random(c.a_size, launch), b = random(std::max<std::int64_t>(c.b_size, 1), launch);
      Tensor bias = make_tensor(DType::f32, {std::max<std::int64_t>(c.bias_size, 1)});
      std::memset(bias.data.get(), 0, bias.view().bytes());
      const Operands operands{a.view(), b.view(), bias.view()};
      bench_.run_all(operands, got.data());
      result_.outputs += c.outputs();
      if (launch == 0) standing = best_on_few(plans, operands, got);
      for (std::size_t i = 0; i < plans.size(); ++i) {
        if (!standing[i]) continue;
        replay(plans[i], c, operands, 0, c.outputs(), want.data(), options_.threads);
        for (std::size_t o = 0; o < got.size(); ++o) agreeing_outputs[i] += got[o] == want[o];
      }
    }
    const auto best = std::max_element(agreeing_outputs.begin(), agreeing_outputs.end());
    const auto which = static_cast<std::size_t>(best - agreeing_outputs.begin());
    if (best == agreeing_outputs.end()) return which;
    result_.outputs_agreeing = *best;
    result_.plan = to_string(plans[which]);
    if (*best == result_.outputs) {
      std::set<std::string> different;
      for (std::size_t i = 0; i < plans.size(); ++i)
        if (agreeing_outputs[i] == *best) different.insert(function_of(plans[i]));
      result_.plans_agreeing = std::ssize(different);
    }
    if (result_.plans_agreeing > 1)
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
  std::mt19937_64 rng_;
  ProbeResult result_;
  std::vector<Candidate> survivors_;
};

}  // namespace

std::int64_t launches_for_tree(std::int64_t terms) {
  return terms / 2 * (static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(terms))) + 2);
}

ProbeResult probe(const ProbeTarget& target, const ProbeOptions& options) {
  if (!target.run) throw Error("probe: nothing to call");
  if (target.in == DType::f64 || target.out == DType::f64)
    throw Error("probe: fp64 operands or outputs are not probed: use fp32, bf16 or fp16");
  return Prober(target, options).run();
}

}  // namespace ulpscope
