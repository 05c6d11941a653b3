#include "harness/statistics/forecast.hpp"

#include <algorithm>
#include <cmath>

#include "harness/inputs.hpp"
#include "harness/suggest.hpp"
#include "reference/error.hpp"
#include "reference/operators.hpp"
#include "reference/parallel.hpp"

namespace ulpscope {
namespace {

struct UsualPlan {
  const char *name, *text;
};
// Hopper's steps (reference/arithmetic/architectures.cpp); cuBLAS rounds operands to TF32 to nearest even.
constexpr UsualPlan kUsual[] = {{"fp32", "fp32 | fma"},
                                {"tf32", "tf32_rne | block 8 frac 25 rz"},
                                {"tf32_rna", "tf32_rna | block 8 frac 25 rz"},
                                {"tf32_rz", "tf32_rz | block 8 frac 25 rz"},
                                {"bf16", "bf16 | block 16 frac 25 rz"},
                                {"fp16", "fp16 | block 16 frac 25 rz"}};

constexpr std::int64_t kFewSeeds = 16;

Judged judge(const std::string& against, const ErrorMixture& m, const ForecastOptions& options) {
  Judged j;
  j.against = against;
  j.expected_max = expected_max_abs(m);
  j.expected_mean = expected_mean_abs(m);
  j.expected_signed = expected_mean_signed(m);
  j.share = violating_share(m, options.tolerance.atol, options.tolerance.rtol);
  j.p_fail = fail_probability(m, options.tolerance.atol, options.tolerance.rtol);
  j.atol = smallest_atol(m, options.tolerance.rtol, options.p_fail);
  return j;
}

// The same arithmetic in another order, where two plans would otherwise be one: correct kernels differ.
Plan other_order(const Plan& plan) {
  Plan other = plan;
  if (other.order.kind != OrderKind::tree) other.order.reversed = !other.order.reversed;
  return other;
}

ForecastReport forecast_of(const Contraction& c, const ModelData& data, const Operands& looked_at,
                           const Contraction& bound_contraction, const std::vector<NamedPlan>& plans,
                           const std::vector<NamedPlan>& references, const ForecastOptions& options) {
  ForecastReport report;
  report.outputs = c.outputs();
  report.tolerance = options.tolerance;
  report.p_fail = options.p_fail;
  ModelOptions model;
  model.max_terms = options.max_terms;
  model.roundings = options.roundings;
  model.threads = options.threads;
  for (const NamedPlan& p : plans) {
    Forecast f;
    f.name = p.name;
    f.plan = to_string(p.plan);
    const ErrorMixture m = model_error(p.plan, c, data, model);
    report.looked_at = static_cast<std::int64_t>(m.outputs.size());
    const PlanBound bound = bound_of(p.plan, bound_contraction, looked_at, options.threads);
    f.formula = bound.formula;
    // S was summed in doubles: make it an upper bound again.
    const double inflation = 1 + static_cast<double>(c.terms() + 1) * 0x1p-52;
    for (const OutputError& e : m.outputs) f.bound = std::max(f.bound, bound.at(e.magnitude * inflation));
    f.judged.push_back(judge("exact", m, options));
    for (const NamedPlan& r : references)
      f.judged.push_back(judge(
          r.name, model_difference(p.plan == r.plan ? other_order(p.plan) : p.plan, r.plan, c, data, model),
          options));
    report.plans.push_back(std::move(f));
  }
  return report;
}

std::int64_t at_most(std::int64_t x, std::int64_t limit) {
  return std::min(x, limit);
}

}  // namespace

std::vector<NamedPlan> usual_plans(DType out) {
  std::vector<NamedPlan> plans;
  for (const UsualPlan& u : kUsual)
    if (std::string(u.name) != "tf32_rna") plans.push_back(usual_plan(u.name, out));
  return plans;
}

NamedPlan usual_plan(const std::string& name, DType out) {
  std::vector<std::string> choices;
  for (const UsualPlan& u : kUsual) {
    choices.push_back(u.name);
    if (name != u.name) continue;
    NamedPlan p{name, *parse_plan(u.text)};
    p.plan.out = out;
    return p;
  }
  throw Error("no usual arithmetic '" + name + "'" + suggestion(name, choices));
}

ForecastReport forecast(const Contraction& c, const Operands& operands, const std::vector<NamedPlan>& plans,
                        const std::vector<NamedPlan>& references, const ForecastOptions& options) {
  return forecast_of(c, model_data(operands), operands, c, plans, references, options);
}

ForecastReport forecast(const Case& test, const std::vector<NamedPlan>& plans,
                        const std::vector<NamedPlan>& references, const ForecastOptions& options) {
  const Contraction c = lower(test.problem);
  const Case small = reduced_case(test, std::int64_t{1} << 24);
  const Inputs inputs = make_inputs(small, options.threads);
  ForecastReport report =
      forecast_of(c, model_data(test), inputs.operands(), lower(small.problem), plans, references, options);
  // Fresh data: only where one data set does not stand for its distribution.
  if (options.seeds <= 0 || c.outputs() > (1 << 16) / std::max<std::int64_t>(1, c.terms())) return report;
  // As many data sets as about 2^22 terms pay for, and few where the answer is plain.
  const std::int64_t affordable =
      (std::int64_t{1} << 22) / (c.outputs() * std::max<std::int64_t>(1, c.terms()));
  const std::int64_t most = std::min(options.seeds, std::max<std::int64_t>(kFewSeeds, affordable));
  std::vector<std::vector<double>> p(plans.size(), std::vector<double>(static_cast<std::size_t>(most)));
  auto run = [&](std::int64_t from, std::int64_t to) {
    parallel_for(to - from, options.threads, [&](std::int64_t i) {
      const std::int64_t s = from + i;
      Case fresh = test;
      // Seeds far from those that people write, so that none of them is the case's own.
      fresh.seed = test.seed ^ (0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(s + 1));
      const ModelData data = model_data(fresh);
      ModelOptions model;
      model.threads = 1;
      model.roundings = options.roundings;
      for (std::size_t k = 0; k < plans.size(); ++k)
        p[k][static_cast<std::size_t>(s)] = fail_probability(model_error(plans[k].plan, c, data, model),
                                                             options.tolerance.atol, options.tolerance.rtol);
    });
  };
  auto mean = [&](std::size_t k, std::int64_t seeds) {
    double sum = 0;
    for (std::int64_t s = 0; s < seeds; ++s) sum += p[k][static_cast<std::size_t>(s)];
    return sum / static_cast<double>(seeds);
  };
  std::int64_t seeds = std::min(kFewSeeds, most);
  run(0, seeds);
  for (std::size_t k = 0; k < plans.size() && seeds < most; ++k)
    if (mean(k, seeds) > 1e-12 && mean(k, seeds) < 1 - 1e-9) {
      run(seeds, most);
      seeds = most;
    }
  for (std::size_t k = 0; k < plans.size(); ++k) {
    report.plans[k].p_fail_over_seeds = mean(k, seeds);
    report.plans[k].seeds = seeds;
  }
  return report;
}

Attainability attainability(const Contraction& c, const ModelData& data, const Plan* reference, DType out,
                            const Tolerance& tolerance, const ModelOptions& options) {
  constexpr double kAttainable = 1e-3;
  auto model = [&](Plan candidate) {
    if (!reference) return model_error(candidate, c, data, options);
    if (candidate == *reference) candidate = other_order(candidate);
    return model_difference(candidate, *reference, c, data, options);
  };
  Plan tf32 = usual_plan("tf32", out).plan;
  // A TF32 kernel that is judged against TF32 rounds its operands as its reference does.
  auto is_tf32 = [](OperandFormat f) {
    return f == OperandFormat::tf32_rne || f == OperandFormat::tf32_rna || f == OperandFormat::tf32_rz;
  };
  if (reference && is_tf32(reference->operands.a) && is_tf32(reference->operands.b) &&
      reference->operands.passes.empty())
    tf32.operands = reference->operands;
  const ErrorMixture of_fp32 = model(usual_plan("fp32", out).plan);
  Attainability a;
  a.p_fail_fp32 = fail_probability(of_fp32, tolerance.atol, tolerance.rtol);
  a.p_fail_tf32 = fail_probability(model(tf32), tolerance.atol, tolerance.rtol);
  a.fp32 = a.p_fail_fp32 < kAttainable;
  a.tf32 = a.p_fail_tf32 < kAttainable;
  a.suggested_atol = smallest_atol(of_fp32, tolerance.rtol, kAttainable);
  a.suggested_rtol = tolerance.rtol;
  return a;
}

Case reduced_case(const Case& c, std::int64_t limit) {
  auto total = [](const Problem& p) { return elements(p.a) + (p.b.empty() ? 0 : elements(p.b)); };
  Case small = c;
  Problem& p = small.problem;
  if (total(p) <= limit) return small;
  const std::string& op = p.params.op;
  const bool forward = op == "conv1d" || op == "conv2d" || op == "conv3d" || op == "conv_transpose1d" ||
                       op == "conv_transpose2d";
  if (forward) {
    // Fewer images, then smaller ones, never smaller than the kernel reaches.
    p.a[0] = 1;
    for (std::size_t x = 2; x < p.a.size() && total(p) > limit; ++x) {
      const auto axis = x - 2;
      const std::int64_t reach = (p.b[x] - 1) * p.params.dilation[axis] + 1;
      const std::int64_t others = elements(p.a) / p.a[x];
      p.a[x] =
          at_most(p.a[x], std::max<std::int64_t>({limit / std::max<std::int64_t>(others, 1), 2 * reach, 16}));
    }
  } else if (op == "gemm" || op == "linear") {
    const std::size_t rank = p.a.size();
    if (rank == 3) p.a[0] = p.b.size() == 3 ? p.b[0] = 1 : 1;
    const std::size_t m = op == "gemm" && p.params.transpose_a ? rank - 1 : rank - 2;
    const bool n_first = op == "linear" || p.params.transpose_b;
    const std::size_t n = n_first ? p.b.size() - 2 : p.b.size() - 1;
    if (total(p) > limit) p.a[m] = at_most(p.a[m], 256);
    if (total(p) > limit) p.b[n] = at_most(p.b[n], 256);
  }
  lower(p);  // the shapes still fit together, or this says so
  return small;
}

}  // namespace ulpscope
