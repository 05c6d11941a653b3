#include "harness/probe/variant_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "harness/inputs.hpp"
#include "reference/arithmetic/architectures.hpp"
#include "reference/counted.hpp"
#include "reference/error.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/plan/program.hpp"
#include "reference/tree/tree.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kFewOutputs = 64, kLaunchesForFew = 2500, kMostLaunches = std::int64_t{1} << 15;
constexpr std::int64_t kMostOutputs = std::int64_t{1} << 22;

/// Masks see one product per term: of a scheme of several passes, the main one.
Plan main_pass_of(Plan plan) {
  plan.operands.passes.clear();
  std::erase_if(plan.order.axes, [](const OrderAxis& a) { return a.name == "pass"; });
  std::erase_if(plan.levels, [](const Level& l) { return l.axis == "pass"; });  // slices of passes
  if (plan.order.axes.empty() && plan.order.kind == OrderKind::nest) plan.order.kind = OrderKind::canonical;
  return plan;
}

class VariantProbe {
 public:
  VariantProbe(Executor& executor, const Job& job, const VariantProbeOptions& options, ProbedVariant& p)
      : executor_(executor),
        job_(job),
        options_(options),
        p_(p),
        c_(lower(p.test.problem)),
        axes_(reduction_axes(c_)) {
    if (c_.outputs() > kMostOutputs)
      throw Error(fmt::format("{} outputs are too many to ask about: give a smaller shape of the same terms",
                              c_.outputs()));
  }

  void run() {
    run_on_own_inputs();
    if (p_.differing > 0) return;
    ProbeOptions probing;
    probing.threads = options_.threads;
    probing.max_launches = options_.max_launches - p_.launches;
    probing.random_launches = 1;       // the case's own inputs are random data too
    if (c_.outputs() < kFewOutputs) {  // one output answers one question a launch
      probing.max_launches = std::max(probing.max_launches, std::clamp(launches_for_tree(c_.terms()) + 200,
                                                                       kLaunchesForFew, kMostLaunches));
      probing.random_launches = 64;
    }
    const ProbeTarget target =
        probe_target(executor_, *job_.variant, p_.test, c_, job_.mode, options_.threads);
    find(target, probing);
    // Without a look at the declared plan first: what is found then is no echo of it.
    if (!p_.confirmed && declared_ && !is_unordered(*declared_)) {
      probing.hints = {to_string(main_pass_of(*declared_))};
      probing.seed = 2;
      p_.hinted = true;
      find(target, probing);
    }
    compare_with_declared();
    compare_with_table();
  }

 private:
  LaunchArgs args() const {
    LaunchArgs a;
    a.problem = &p_.test.problem;
    a.contraction = &c_;
    a.in_dtype = p_.test.in;
    a.out_dtype = p_.test.out;
    a.mode = job_.mode;
    a.threads = options_.threads;
    return a;
  }

  // Two launches on the inputs that the case describes: what runs, whether it repeats, and whether the
  // declared plan gives its bits.
  void run_on_own_inputs() {
    inputs_ = make_inputs(p_.test, options_.threads);
    executor_.set_inputs(inputs_.operands());
    const Execution e = executor_.execute(*job_.variant, args());
    p_.launches += 2;
    p_.notes = e.notes;
    p_.differing = e.differing;
    bits_.resize(static_cast<std::size_t>(c_.outputs()));
    executor_.start_copy(0, {e.output}, {0, 1, c_.outputs(), c_.outputs()});
    const TensorView got{executor_.finish_copy(0).at(0), p_.test.out, {c_.outputs()}};
    for (std::int64_t o = 0; o < c_.outputs(); ++o)
      bits_[static_cast<std::size_t>(o)] = static_cast<std::uint32_t>(got.bits_at(o));
    executor_.release(e.output);
    if (e.unwritten > 0) throw Error(counted(e.unwritten, "output", "was", "were") + " never written");
    if (!e.guards_intact) throw Error("it wrote outside its output");
    p_.declared = declared_plan(*job_.variant, p_.test.problem, job_.mode, p_.test.out);
    if (p_.declared.empty()) return;
    declared_ = parse_plan(p_.declared);
    if (is_unordered(*declared_)) return;
    p_.declared_tested = c_.outputs();
    p_.declared_equal = equal_on_own_inputs(*declared_);
  }

  std::int64_t equal_on_own_inputs(const Plan& plan) const {
    std::vector<std::uint32_t> want(bits_.size());
    replay(plan, c_, inputs_.operands(), 0, c_.outputs(), want.data(), options_.threads);
    std::int64_t equal = 0;
    for (std::size_t o = 0; o < want.size(); ++o) equal += bits_[o] == want[o];
    return equal;
  }

  // A bias is zero while probing; where it is added shows here.
  void falsify_on_own_inputs() {
    ProbeResult& r = p_.result;
    if (r.plan.empty()) return;
    Plan plan = *parse_plan(r.plan);
    std::int64_t most = -1;
    for (const BiasPlace bias : {BiasPlace::last, BiasPlace::first, BiasPlace::after}) {
      plan.bias = bias;
      const std::int64_t equal = equal_on_own_inputs(plan);
      if (equal > most) {
        most = equal;
        r.plan = to_string(plan);
      }
      if (!c_.has_bias || equal == c_.outputs()) break;
    }
    r.outputs += c_.outputs();
    r.outputs_agreeing += most;
    r.confirmed = r.confirmed && most == c_.outputs();
  }

  void find(const ProbeTarget& target, const ProbeOptions& probing) {
    p_.result = probe(target, probing);
    p_.launches += p_.result.launches;
    falsify_on_own_inputs();
    p_.confirmed = p_.result.confirmed;
  }

  // Trees as what is summed together; arithmetic where there are products to see.
  void compare_with_declared() {
    if (!declared_ || is_unordered(*declared_)) return;
    const ProbeResult& r = p_.result;
    const bool passes = declared_->operands.pass_count() > 1;
    const bool bits = p_.declared_equal == p_.declared_tested, masks = r.masks == r.masks_agreeing;
    if (passes)
      p_.confirmed = bits && masks && r.masks > 0;  // the probe replays one pass; this is all of them
    if (!p_.confirmed || r.plan.empty()) {
      p_.same_tree = false;
      p_.difference = "no plan was confirmed, so the declared one is not either";
      return;
    }
    const Plan probed = *parse_plan(r.plan), declared = main_pass_of(*declared_);
    const TreeDifference d = compare(tree_of(probed, axes_), tree_of(declared, axes_));
    p_.same_tree = d.same;
    if (!d.same) p_.difference = d.text;
    if (!bits) {
      p_.same_arithmetic = false;
      p_.difference += (p_.difference.empty() ? "" : "; ") +
                       fmt::format("the declared plan gives the bits of {} of {} outputs", p_.declared_equal,
                                   p_.declared_tested);
    } else if (passes || c_.b_is_ones || probed.arithmetic == declared.arithmetic) {
      p_.same_arithmetic = true;
    } else {
      // Both give every bit: by chance, or because nothing tells them apart.
      p_.same_arithmetic = r.plans_agreeing > 1 || fusing_is_unseen(probed.arithmetic, declared);
      if (!*p_.same_arithmetic) p_.difference += "the arithmetic differs";
    }
    if (passes) p_.result.plan = p_.declared;
  }

  // Fused or not, where no product meets a sum before it is rounded.
  bool fusing_is_unseen(const Arithmetic& probed, const Plan& declared) const {
    const auto as_fma = [](Arithmetic a) {
      if (a.step == Step::mul_add && a.product == a.accumulator) a.step = Step::fma;
      a.product = a.accumulator;
      return a;
    };
    const Arithmetic a = as_fma(probed);
    return a.step == Step::fma && a == as_fma(declared.arithmetic) &&
           products_stand_alone(compile(declared, axes_));
  }

  void compare_with_table() {
    const ProbedArithmetic& a = p_.result.arithmetic;
    if (!p_.confirmed || !a.block || a.a.empty() || executor_.where() != Where::cuda) return;
    if (const TensorCore* row = find_tensor_core(options_.sm, a.a[0], a.accumulator))
      p_.agrees_with_table = a.terms == row->step.terms && a.frac == row->step.frac;
  }

  Executor& executor_;
  const Job& job_;
  const VariantProbeOptions& options_;
  ProbedVariant& p_;
  Contraction c_;
  std::vector<NamedExtent> axes_;
  Inputs inputs_;
  std::vector<std::uint32_t> bits_;  // of the launch on them
  std::shared_ptr<const Plan> declared_;
};

}  // namespace

std::optional<bool> ProbedVariant::as_declared() const {
  if (status != "ok" || !same_tree) return {};
  return *same_tree && same_arithmetic.value_or(false);
}

ProbedVariant probe_variant(Executor& executor, const Job& job, const Case& test,
                            const VariantProbeOptions& options) {
  ProbedVariant p;
  p.test = test;
  p.variant = job.variant->name;
  p.source = job.variant->source;
  p.mode = job.mode;
  p.vendor = job.variant->vendor;
  p.executed = executor.where() == Where::cuda ? "device" : "host";
  try {
    VariantProbe(executor, job, options, p).run();
  } catch (const std::exception& e) {
    p.status = "error";
    p.reason = e.what();
  }
  return p;
}

}  // namespace ulpscope
