#include "harness/explain/side.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/bound.hpp"
#include "harness/explain/flushed.hpp"
#include "harness/explain/side_plans.hpp"
#include "harness/explain/split_operands.hpp"
#include "reference/counted.hpp"
#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {
namespace {

using Format = OperandFormat;
constexpr Format kFormats[] = {Format::fp32,    Format::tf32_rne, Format::tf32_rna,
                               Format::tf32_rz, Format::fp16,     Format::bf16};
constexpr std::int64_t kLadderOutputs = 2048;

struct Pair {
  Format a, b;
};

Operands shortened_operands(const Operands& o, Format a, Format b, std::vector<Tensor>& keep) {
  Operands r = o;
  keep.push_back(shortened(o.a, a));
  r.a = keep.back().view();
  if (o.b.data) {
    keep.push_back(shortened(o.b, b));
    r.b = keep.back().view();
  }
  return r;
}

class Side {
 public:
  Side(const ExplainRequest& request, const SideInput& side, const Truth& truth)
      : request_(request),
        side_(side),
        truth_(truth),
        c_(request.contraction),
        operands_(*side.operands),
        n_(c_.outputs()) {}

  SideReport operator()() {
    r_.name = side_.dump->name;
    r_.dtype = side_.dump->output.dtype;
    const TensorView y = side_.dump->output.view();
    seen_.resize(static_cast<std::size_t>(n_));
    for (std::int64_t i = 0; i < n_; ++i) seen_[static_cast<std::size_t>(i)] = y.at(i);
    search(y);
    ladder();
    name_operands();
    if (!r_.plan) look_for_mistakes();
    measure_errors(y);
    judge();
    return std::move(r_);
  }

 private:
  void search(const TensorView& y) {
    SearchOptions options;
    options.seconds = request_.seconds;
    options.threads = request_.threads;
    options.hints = side_.hints;
    tipped_ = tipped_only(c_, y, truth_);
    if (request_.quick) {
      if (options.hints.empty()) return;
      options.seconds = 0;
      found_ = find_plans(c_, operands_, observe(y), options);
    } else {
      found_ = search_plans(c_, operands_, y, tipped_, options);
      if (found_.plans.empty())
        if (auto flushed = flushed_plans(c_, operands_, y, truth_, options)) {
          found_ = std::move(flushed->found);
          r_.flushes = flushed->what;
        }
    }
    r_.candidates_tried = found_.candidates;
    r_.plans = found_.plans;
    r_.best_plan = found_.best_plan;
    r_.bit_identical = found_.plans.empty() ? found_.best_share : 1;
    if (found_.plans.empty()) {
      if (some_order_gives(found_.unordered_plan, c_, operands_, y))
        r_.unordered_plan = found_.unordered_plan;
      return;
    }
    r_.plan = admitted_first();
    r_.unique = found_.unique;
    if (!r_.unique)
      r_.family = found_.rounded_exact_fits
                      ? "so does the correctly rounded exact result: these outputs cannot tell plans apart"
                      : fmt::format("{} of those tried {} every bit",
                                    counted(static_cast<std::int64_t>(found_.plans.size()), "plan"),
                                    found_.plans.size() == 1 ? "gives" : "give");
    if (!r_.unique && !found_.rounded_exact_fits && static_cast<std::size_t>(y.size()) < kFewOutputs)
      r_.family += fmt::format("; {} may fit a plan by chance", counted(y.size(), "output"));
  }

  // Where several plans fit, one that the mode admits.
  std::string admitted_first() const {
    std::string why;
    if (side_.mode)
      for (const std::string& p : found_.plans)
        if (admits(*side_.mode, operands_.a.dtype, *parse_plan(p), why)) return p;
    return found_.plans[0];
  }

  struct Left {
    double max = 0, mean = 0, equal = 0, rms = 0;
    std::int64_t beyond = 0;
  };

  // What is left when the operands are shortened so and the sum is exact; on evenly spread outputs.
  Left left_over(Pair p, std::int64_t most, std::vector<std::uint8_t>* bad = nullptr) const {
    std::vector<Tensor> keep;
    const Operands shorter = shortened_operands(operands_, p.a, p.b, keep);
    std::vector<std::int64_t> outputs;
    const std::int64_t n = std::min(n_, most);
    for (std::int64_t i = 0; i < n; ++i)
      outputs.push_back(n == n_ ? i : i * (n_ / n) + (i * 7919) % (n_ / n));
    std::vector<double> value(outputs.size()), s(outputs.size());
    std::vector<std::uint32_t> rounded(outputs.size());
    const ExactOut out{value.data(), s.data(), rounded.data()};
    ExactOptions options;
    options.out = truth_.out;
    options.threads = request_.threads;
    if (n == n_)
      exact(c_, shorter, options, 0, n, out);
    else
      exact_at(c_, shorter, options, outputs, out);
    Left l;
    std::int64_t finite = 0, equal = 0;
    const double divisor = std::abs(c_.divisor);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::int64_t o = outputs[i];
      const double y = seen_[static_cast<std::size_t>(o)];
      equal += side_.dump->output.view().bits_at(o) == rounded[i];
      bool outside = false;
      if (!std::isfinite(y) || !std::isfinite(value[i])) {
        outside = !(std::isnan(y) == std::isnan(value[i]) &&
                    (std::isnan(y) || y == value[i] || y == value_of_bits(truth_.out, rounded[i])));
      } else {
        const double e = std::abs(y - value[i]);
        l.max = std::max(l.max, e);
        l.mean += e;
        const double unit = 0x1p-24 * s[i] / divisor;
        if (unit > 0) l.rms += (e / unit) * (e / unit);
        outside = e > admissible_error(c_.terms(), s[i] / divisor, value[i], truth_.out) &&
                  !flushed_to_zero(y, value[i]);
        ++finite;
      }
      l.beyond += outside;
      if (bad) (*bad)[static_cast<std::size_t>(o)] = outside;
    }
    if (finite) l.mean /= static_cast<double>(finite), l.rms = std::sqrt(l.rms / static_cast<double>(finite));
    l.equal = static_cast<double>(equal) / static_cast<double>(std::max<std::int64_t>(1, n));
    return l;
  }

  void ladder() {
    auto rung = [&](const std::string& name, Pair p) {
      const Left l = left_over(p, kLadderOutputs);
      tried_.push_back({p, l});
      Rung r;
      r.name = name;
      r.measured = true;
      r.max_residual = l.max;
      r.mean_residual = l.mean;
      r.equal_share = l.equal;
      r.status = l.beyond ? RungStatus::excluded : RungStatus::confirmed;
      r.note = l.beyond ? fmt::format("{} of {} beyond what any order of fp32 sums can leave", l.beyond,
                                      counted(std::min(n_, kLadderOutputs), "output"))
                        : "within what accumulation in some order can leave";
      ladder_.push_back(r);
    };
    for (const Format f : kFormats) rung(std::string("operands ") + info(f).name, {f, f});
    if (!c_.b_is_ones)
      for (const Format f : kFormats)
        if (f != Format::fp32) {
          rung(std::string("input alone ") + info(f).name, {f, Format::fp32});
          rung(std::string("weight alone ") + info(f).name, {Format::fp32, f});
        }
    // The best: most outputs within their limit, then the least left over, then the least shortening.
    best_ = 0;
    for (std::size_t i = 1; i < tried_.size(); ++i) {
      const Left &l = tried_[i].second, &b = tried_[best_].second;
      if (l.beyond < b.beyond || (l.beyond == b.beyond && l.rms < 0.9 * b.rms)) best_ = i;
    }
  }

  void name_operands() {
    std::vector<Pair> fits;
    if (r_.plan && parse_plan(*r_.plan)->operands.pass_count() > 1) {
      in_parts(r_.plan->substr(0, r_.plan->find(" | ")));
      if (r_.operands != "unknown") fits.push_back(tried_[0].first);
    } else if (r_.plan) {
      std::vector<Pair> of_plans;
      for (const std::string& text : r_.plans) {
        const auto p = parse_plan(text);
        of_plans.push_back({p->operands.a, p->operands.b});
      }
      for (const auto& [p, l] : tried_) {
        bool fit = false;
        for (const Pair& q : of_plans)
          fit = fit || (same_data(operands_.a, p.a, q.a) && same_data(operands_.b, p.b, q.b));
        // 16-bit results: the rounded exact sum of such operands is all that shows, but where it was tipped.
        fit = fit || (tipped_ && p.a == Format::fp32 && p.b == Format::fp32);
        if (!fit && truth_.out != DType::f32) fit = left_over(p, n_).equal == 1;
        if (fit) fits.push_back(p);
      }
    } else {
      const auto& [best, left] = tried_[best_];
      if (left.beyond == 0)
        for (const auto& [p, l] : tried_)
          if (l.beyond == 0 && l.rms <= 1.25 * left.rms + 1e-3) fits.push_back(p);
    }
    for (const Pair& p : fits) {
      auto note = [](std::vector<std::string>& list, Format f) {
        if (std::find(list.begin(), list.end(), info(f).name) == list.end()) list.push_back(info(f).name);
      };
      if (p.a == p.b) note(r_.operands_fit, p.a);
      note(r_.input_fit, p.a);
      note(r_.weight_fit, p.b);
    }
    if (!r_.operands_fit.empty()) {
      r_.operands = r_.operands_input = r_.operands_weight = r_.operands_fit[0];
    } else if (!fits.empty()) {
      r_.operands_input = info(fits[0].a).name;
      r_.operands_weight = info(fits[0].b).name;
    }
    for (std::size_t i = 0; i < ladder_.size(); ++i) {
      const Pair& p = tried_[i].first;
      const bool fit =
          std::any_of(fits.begin(), fits.end(), [&](const Pair& q) { return q.a == p.a && q.b == p.b; });
      if (ladder_[i].status == RungStatus::confirmed && !fit) {
        ladder_[i].status = RungStatus::excluded;
        ladder_[i].note =
            "within the limits of accumulation, but another rounding leaves far less or gives the bits";
      } else if (fit && ladder_[i].status == RungStatus::excluded && r_.plan) {
        ladder_[i].status = RungStatus::confirmed;
        ladder_[i].note = "the plan's accumulator accounts for what is left";
      }
    }
  }

  // Two parts of 8 bits are short of fp32; of 11 bits, only where what they lose shows.
  void in_parts(const std::string& stage) {
    r_.parts = stage;
    const bool full = !stage.starts_with("bf16") && tried_[0].second.beyond == 0;  // fp32 comes first
    r_.operands = r_.operands_input = r_.operands_weight = full ? "fp32" : "unknown";
    r_.operands_fit = r_.input_fit = r_.weight_fit = {};
    if (full) r_.operands_fit = r_.input_fit = r_.weight_fit = {"fp32"};
  }

  void look_for_mistakes() {
    std::vector<std::uint8_t> bad(static_cast<std::size_t>(n_), 0);
    const Left l = left_over(tried_[best_].first, n_, &bad);
    r_.inputs_suffice = l.beyond == 0;
    if (r_.inputs_suffice) return;
    split_ = split_that_fits(c_, operands_, seen_, truth_.out, request_.threads);
    if (split_) {
      r_.inputs_suffice = true;
      in_parts(*split_);
      return;
    }
    if (request_.quick) return;
    Suspect s;
    s.c = &c_;
    s.problem = &request_.problem;
    s.operands = &operands_;
    s.seen = seen_;
    s.value = truth_.value;
    s.magnitude = truth_.magnitude;
    s.bad = bad;
    s.out = truth_.out;
    std::vector<double> stale;
    if (side_.stale && side_.stale->output.size() == n_) {
      for (std::int64_t i = 0; i < n_; ++i) stale.push_back(side_.stale->output.view().at(i));
      s.stale = &stale;
    }
    r_.mistake = find_mistake(s);
    if (!r_.mistake) where_ = region_of(c_, bad);
    if (!r_.mistake)
      r_.operands = r_.operands_input = r_.operands_weight = "unknown", r_.operands_fit.clear();
  }

  std::string out_stage() const {
    return truth_.out == DType::f32 ? "" : std::string(" | out ") + name_of(truth_.out);
  }

  OutputBound bound() {
    if (r_.plan) return bound_of_plan(*parse_plan(*r_.plan), c_, operands_, request_.threads);
    if (side_.mode)
      return bound_of_mode(*side_.mode, operands_.a.dtype, truth_.out, c_, operands_, request_.threads);
    if (split_)
      return bound_of_plan(*parse_plan(*split_ + " | mul_add" + out_stage()), c_, operands_,
                           request_.threads);
    if (r_.inputs_suffice) {
      const Pair p = tried_[best_].first;
      const std::string out = out_stage();
      const std::string operands =
          p.a == p.b ? info(p.a).name : fmt::format("a {} b {}", info(p.a).name, info(p.b).name);
      OutputBound wide =
          bound_of_plan(*parse_plan(operands + " | mul_add" + out), c_, operands_, request_.threads);
      if (p.a != Format::fp32 && p.b != Format::fp32) {
        const OutputBound block = bound_of_plan(*parse_plan(operands + " | block 4 frac 23 rz" + out), c_,
                                                operands_, request_.threads);
        if (block.per_s > wide.per_s) wide = block;
      }
      return wide;
    }
    widest_ = true;
    return bound_of_mode(Mode::bf16, operands_.a.dtype, truth_.out, c_, operands_, request_.threads);
  }

  void measure_errors(const TensorView& y) {
    measure_against_bound(y);
    if (r_.plan || side_.mode || split_ || !r_.inputs_suffice || r_.error.beyond_bound == 0) return;
    // Operands in several short parts lose little enough to look like a rough accumulator.
    split_ = split_that_fits(c_, operands_, seen_, truth_.out, request_.threads);
    if (!split_) return;
    in_parts(*split_);
    measure_against_bound(y);
  }

  void measure_against_bound(const TensorView& y) {
    MeasureSetup setup;
    setup.out = truth_.out;
    setup.bound = bound();
    setup.tolerance = request_.tolerance;
    r_.bound_formula = setup.bound.formula;
    r_.error = measure(c_, setup, 0, n_, y.data, truth_.value.data(), truth_.magnitude.data(),
                       truth_.rounded.data(), request_.threads);
  }

  void judge() {
    Rung plan;
    plan.name = "block step, order, split, accumulator";
    plan.measured = true;
    plan.equal_share = r_.bit_identical;
    plan.status = r_.plan ? RungStatus::confirmed : RungStatus::excluded;
    plan.note =
        r_.plan ? "replayed: " + *r_.plan +
                      (r_.flushes.empty() ? "" : ", subnormal " + r_.flushes + " flushed to zero")
        : !r_.unordered_plan.empty()
            ? "atomics: every output looked at is this, its parts added in some order: " + r_.unordered_plan
            : fmt::format("none of {} plans gives every bit{}", r_.candidates_tried,
                          r_.best_plan.empty() ? "" : "; closest: " + r_.best_plan);
    r_.rungs = ladder_;
    r_.rungs.push_back(plan);
    Rung structural;
    structural.name = "structural mistakes";
    if (r_.plan) {
      structural.status = RungStatus::excluded;
      structural.note = "the plan accounts for every bit";
    } else if (r_.mistake) {
      structural.status = RungStatus::confirmed;
      structural.note = r_.mistake->what + "; " + r_.mistake->region.words + "; " + r_.mistake->evidence;
      structural.measured = r_.mistake->reproduced;
      structural.max_residual = r_.mistake->max_residual;
    } else {
      structural.status = RungStatus::excluded;
      structural.note =
          r_.inputs_suffice ? "every output is within roundings of the right sum" : "no mutant reproduces it";
    }
    r_.rungs.push_back(structural);
    std::string why;
    const Measurement& m = r_.error;
    if (side_.nondeterministic) {
      set(Verdict::nondeterministic, "two dumps of the same call differ in bits");
    } else if (r_.mistake) {
      set(Verdict::structural, r_.mistake->what + " (" + r_.mistake->region.words + ")");
    } else if (r_.plan) {
      if (side_.mode && !admits(*side_.mode, operands_.a.dtype, *parse_plan(*r_.plan), why) &&
          !data_is_short())
        set(Verdict::violated, why + ": " + *r_.plan);
      else
        set(Verdict::explained,
            "replaying `" + *r_.plan + "`" +
                (r_.flushes.empty() ? "" : " with subnormal " + r_.flushes + " flushed to zero") +
                " gives every bit");
    } else if (misses_exact_sums(m)) {
      set(Verdict::violated, fmt::format("{} not exact, though every sum of these products is, in any order",
                                         counted(m.beyond_bound, "output", "is", "are")));
    } else if (m.beyond_bound > 0) {
      set(r_.inputs_suffice || widest_ || side_.mode ? Verdict::violated : Verdict::unexplained,
          fmt::format("{} beyond the {} ({}{})", counted(m.beyond_bound, "output", "lies", "lie"),
                      widest_ ? "widest bound of any admissible arithmetic" : "bound",
                      m.beyond_bound == m.nonfinite_mismatch
                          ? "NaN or infinite where the truth is not, or the reverse"
                          : fmt::format("{:.3g} times at worst", m.headroom),
                      where_.outputs          ? "; " + where_.words
                      : m.flushed_beyond == 0 ? ""
                      : m.flushed_beyond == m.beyond_bound
                          ? "; all are zeros where the truth is subnormal: it flushes subnormals to zero"
                          : fmt::format("; {} are zeros where the truth is subnormal", m.flushed_beyond)));
    } else if (!r_.unordered_plan.empty()) {
      set(Verdict::bounded,
          fmt::format(
              "its partial sums are added in no fixed order (atomics): `{}`; within the derived bound "
              "({:.2g} of it)",
              r_.unordered_plan, m.headroom));
    } else if (r_.inputs_suffice || side_.mode) {
      set(Verdict::bounded,
          fmt::format("no plan found, but within the derived bound{} ({:.2g} of it)",
                      split_ ? " of operands in several parts, `" + *split_ + "`" : "", m.headroom));
    } else {
      set(Verdict::unexplained,
          fmt::format("no rounding of the operands and no mistake accounts for it ({})", where_.words));
    }
  }

  // Shortening that loses nothing is no breach of a promise.
  bool data_is_short() const {
    const auto p = parse_plan(*r_.plan);
    return p->arithmetic.accumulator != DType::f16 && p->arithmetic.accumulator != DType::bf16 &&
           same_data(operands_.a, p->operands.a, Format::fp32) &&
           same_data(operands_.b, p->operands.b, Format::fp32);
  }

  void set(Verdict v, std::string why) {
    r_.verdict = v;
    r_.why = std::move(why);
  }

  const ExplainRequest& request_;
  const SideInput& side_;
  const Truth& truth_;
  const Contraction& c_;
  const Operands& operands_;
  const std::int64_t n_;
  SideReport r_;
  SearchResult found_;
  std::vector<double> seen_;
  std::vector<std::pair<Pair, Left>> tried_;
  std::vector<Rung> ladder_;
  std::size_t best_ = 0;
  bool widest_ = false, tipped_ = false;
  std::optional<std::string> split_;  // operands in several parts, as a plan's first stage
  Region where_;
};

}  // namespace

SideReport explain_side(const ExplainRequest& request, const SideInput& side, const Truth& truth) {
  return Side(request, side, truth)();
}

}  // namespace ulpscope
