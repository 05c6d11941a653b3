#include "harness/drift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/statistics/element_source.hpp"
#include "harness/statistics/order_bound.hpp"
#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reference/plan/slots.hpp"

namespace ulpscope {
namespace {

// A run of consecutive outputs; replay works on runs.
struct Run {
  std::int64_t begin, count;
};

std::vector<Run> runs_of(std::int64_t total, std::int64_t wanted) {
  if (wanted >= total) return {{0, total}};
  const std::int64_t count = std::clamp<std::int64_t>(wanted / 64, 1, 64);
  const std::int64_t length = std::max<std::int64_t>(1, wanted / count);
  std::vector<Run> runs;
  for (const std::int64_t o : sampled_outputs(total / length, std::min(count, total / length)))
    runs.push_back({o * length, length});
  return runs;
}

struct Truth {
  std::vector<double> value, magnitude;
};

// Sums in long double: off by 2^-64 * n * S at most, far below the errors measured here.
Truth truth_of(const Contraction& c, const Operands& operands, const std::vector<std::int64_t>& outputs,
               int threads) {
  Truth truth;
  truth.value.resize(outputs.size());
  truth.magnitude.resize(outputs.size());
  const ModelData data = model_data(operands);
  constexpr std::size_t kBlock = 1024;
  parallel_for(static_cast<std::int64_t>((outputs.size() + kBlock - 1) / kBlock), threads,
               [&](std::int64_t block) {
                 TermGather t(c, data);
                 const std::size_t from = static_cast<std::size_t>(block) * kBlock;
                 for (std::size_t i = from; i < std::min(outputs.size(), from + kBlock); ++i) {
                   t.load(outputs[i]);
                   long double sum = t.bias, magnitude = std::fabs(t.bias);
                   for (std::size_t k = 0; k < t.n; ++k) {
                     const long double p = static_cast<long double>(t.a[k]) * t.b[k];
                     sum += p;
                     magnitude += std::fabs(p);
                   }
                   truth.value[i] = static_cast<double>(sum / c.divisor);
                   truth.magnitude[i] = static_cast<double>(magnitude / c.divisor) * (1 + 0x1p-50);
                 }
               });
  return truth;
}

// Smallest and largest result of one arithmetic, and the two bounds that limit their distance.
struct Envelope {
  std::string arithmetic;
  std::int64_t orders = 0;
  std::vector<double> low, high, bound;
};

}  // namespace

std::vector<DriftPlan> drift_plans(const Contraction& c, DType out) {
  std::vector<NamedExtent> axes;
  for (const NamedExtent& a : reduction_axes(c))
    if (a.size > 1) axes.push_back(a);
  // Every chunked order needs its axis longer than the chunk; the longest axis is the one that tiles cut.
  std::size_t longest = 0;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].size > axes[longest].size) longest = i;
  std::vector<DriftPlan> plans;
  auto add = [&](const std::string& arithmetic, const std::string& text) {
    DriftPlan p{arithmetic, *parse_plan(text)};
    p.plan.out = out;
    plans.push_back(std::move(p));
  };
  auto nest = [&](const std::vector<std::size_t>& order, std::int64_t chunk) {
    std::string text = "order";
    if (chunk > 0) text += fmt::format(" {}/{}", axes[longest].name, chunk);
    for (const std::size_t i : order)
      if (chunk == 0 || i != longest) text += " " + axes[i].name;
    if (chunk > 0) text += " " + axes[longest].name;
    return text;
  };
  std::vector<std::size_t> canonical(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) canonical[i] = i;

  const std::string fma = "fp32 fma", head = "fp32 | fma";
  add(fma, head);
  if (!axes.empty()) {
    add(fma, head + " | " + nest(canonical, 0) + " reversed");
    std::vector<std::size_t> permuted = canonical;
    for (std::size_t i = 1; i < axes.size(); ++i) {
      std::rotate(permuted.begin(), permuted.begin() + 1, permuted.end());
      add(fma, head + " | " + nest(permuted, 0));
    }
    for (const std::int64_t chunk : {8, 16, 32, 64})
      if (axes[longest].size > chunk) add(fma, head + " | " + nest(canonical, chunk));
  }
  for (const char* tail :
       {"pairwise", "split 2", "split 4", "split 16 tree", "lanes 4", "lanes 32 butterfly", "lanes 32 tree",
        "lanes 8 every 4 recursive", "chunks 64 tree", "chunks 32 reverse"})
    add(fma, head + " | " + tail);
  for (int seed = 1; seed <= 4; ++seed) add(fma, fmt::format("{} | order shuffle {}", head, seed));
  add("fp32 separate products", "fp32 | mul_add");
  add("fp32 separate products", "fp32 | mul_add | pairwise");
  add("fp32 separate products", "fp32 | mul_add | order shuffle 5");
  add("compensated", "fp32 | kahan");
  add("compensated", "fp32 | kahan_fma");
  add("double", "fp32 | fma fp64");
  add("double", "fp32 | fma fp64 | order shuffle 6");
  add("double sum of fp32 products", "fp32 | mul_add fp32 fp64");
  add("tf32_rne operands, fp32 sum", "tf32_rne | fma");
  for (const char* rounding : {"tf32_rne", "tf32_rna", "tf32_rz"}) {
    const std::string block = std::string(rounding) + " | block 8 frac 25 rz",
                      name = std::string(rounding) + " tensor core";
    add(name, block);
    if (!axes.empty() && axes[longest].size > 16) add(name, block + " | " + nest(canonical, 16));
    add(name, block + " | split 4 align 8");
  }
  add("tf32_rne tensor core, Ampere", "tf32_rne | block 4 frac 24 rz");
  add("3 passes of tf32_rne", "tf32_rne passes lo*hi hi*lo hi*hi | block 8 frac 25 rz");
  add("bf16 tensor core", "bf16 | block 16 frac 25 rz");
  add("bf16 tensor core", "bf16 | block 16 frac 25 rz | split 4 align 16");
  add("fp16 tensor core", "fp16 | block 16 frac 25 rz");
  add("fp16 sum", "fp16 | fma fp16");
  return plans;
}

DriftReport drift(const Contraction& c, const Operands& operands, const std::vector<DriftPlan>& plans,
                  const DriftOptions& options) {
  if (plans.empty()) throw Error("drift: no plans to compare: give at least one");
  DriftReport report;
  report.outputs = c.outputs();
  report.tolerance = options.tolerance;
  std::vector<std::int64_t> outputs;
  const std::vector<Run> runs = runs_of(report.outputs, sample_size(c, options.max_terms));
  for (const Run& r : runs)
    for (std::int64_t o = r.begin; o < r.begin + r.count; ++o) outputs.push_back(o);
  const std::size_t n = outputs.size();
  report.looked_at = static_cast<std::int64_t>(n);
  const Truth truth = truth_of(c, operands, outputs, options.threads);

  std::vector<std::uint32_t> bits(n);
  std::vector<double> first(n), result(n);
  std::vector<Envelope> envelopes;
  for (const DriftPlan& p : plans) {
    std::size_t at = 0;
    for (const Run& r : runs) {
      replay(p.plan, c, operands, r.begin, r.count, bits.data() + at, options.threads);
      at += static_cast<std::size_t>(r.count);
    }
    const PlanBound bound = bound_of(p.plan, c, operands, options.threads);
    const OrderBound order_bound = sum_bound(p.plan, c, operands, options.threads);
    auto found = std::find_if(envelopes.begin(), envelopes.end(),
                              [&](const Envelope& e) { return e.arithmetic == p.arithmetic; });
    if (found == envelopes.end()) {
      envelopes.push_back({p.arithmetic, 0, std::vector<double>(n, HUGE_VAL),
                           std::vector<double>(n, -HUGE_VAL), std::vector<double>(n, 0.0)});
      found = envelopes.end() - 1;
    }
    ++found->orders;
    DriftRow row;
    row.arithmetic = p.arithmetic;
    row.plan = to_string(p.plan);
    std::int64_t finite = 0;
    for (std::size_t i = 0; i < n; ++i) {
      result[i] = value_of_bits(p.plan.out, bits[i]);
      const double limit = options.tolerance.atol + options.tolerance.rtol * std::fabs(truth.value[i]);
      const double error = result[i] - truth.value[i], per_output = bound.at(truth.magnitude[i]);
      row.violations += !(std::fabs(error) <= limit);
      row.bound = std::max(row.bound, per_output);
      found->bound[i] = std::max(found->bound[i], std::min(per_output, order_bound.at(truth.magnitude[i])));
      found->low[i] = std::min(found->low[i], result[i]);
      found->high[i] = std::max(found->high[i], result[i]);
      if (!std::isfinite(error)) {
        ++row.nonfinite;
        continue;
      }
      ++finite;
      row.max_abs = std::max(row.max_abs, std::fabs(error));
      row.mean_abs += std::fabs(error);
      row.mean_signed += error;
      if (error != 0) {
        row.max_scaled = std::max(row.max_scaled, std::fabs(error) / (0x1p-24 * truth.magnitude[i]));
        if (per_output < HUGE_VAL) row.headroom = std::max(row.headroom, std::fabs(error) / per_output);
      }
      if (!report.rows.empty() && std::isfinite(first[i]))
        row.from_first = std::max(row.from_first, std::fabs(result[i] - first[i]));
    }
    if (finite > 0) {
      row.mean_abs /= static_cast<double>(finite);
      row.mean_signed /= static_cast<double>(finite);
    }
    if (report.rows.empty()) first = result;
    report.rows.push_back(std::move(row));
  }
  for (const Envelope& e : envelopes) {
    OrderSpread s{e.arithmetic, e.orders};
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isfinite(e.high[i] - e.low[i])) s.observed = std::max(s.observed, e.high[i] - e.low[i]);
      s.bound = std::max(s.bound, 2 * e.bound[i]);
    }
    report.spreads.push_back(s);
  }
  return report;
}

OrderVerdict order_accounts_for(const DriftReport& report, double observed, const std::string& what) {
  const OrderSpread& s = report.spreads.front();
  OrderVerdict v;
  v.can = observed <= s.bound;
  v.seen = observed <= s.observed;
  const std::string moved = fmt::format(
      "{} orders of {} moved a result by at most {:.2g}, and no two orders can differ by more than {:.2g}",
      s.orders, s.arithmetic, s.observed, s.bound);
  if (!v.can) {
    v.sentence = fmt::format("Order cannot account for {} ({:.2g}): {}.", what, observed, moved);
    // Who can: arithmetics whose results lie about that far from the first plan's.
    std::vector<std::string> names;
    for (const DriftRow& r : report.rows)
      if (r.arithmetic != s.arithmetic && r.from_first >= 0.5 * observed &&
          observed <= r.bound + report.rows.front().bound &&
          std::find(names.begin(), names.end(), r.arithmetic) == names.end())
        names.push_back(r.arithmetic);
    if (!names.empty())
      v.sentence += fmt::format(" A difference of that size separates it from: {}.", fmt::join(names, ", "));
  } else if (v.seen) {
    v.sentence = fmt::format("Order can account for {} ({:.2g}): {}.", what, observed, moved);
  } else {
    v.sentence =
        fmt::format("Order can account for {} ({:.2g}) in the worst case only: {}.", what, observed, moved);
  }
  return v;
}

}  // namespace ulpscope
