#include "harness/drift_json.hpp"

#include <fmt/format.h>

#include "harness/inputs.hpp"
#include "harness/measure_strata.hpp"
#include "harness/statistics/forecast.hpp"
#include "reference/error.hpp"
#include "reference/operators.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostElements = 1 << 16;  // of inputs made for it
constexpr std::int64_t kMostGiven = 1 << 24;     // of inputs that are there already
constexpr std::int64_t kMostTerms = 1 << 14;     // of one output
constexpr std::int64_t kLookedAt = 1 << 15;      // terms per plan

/// Four digits: a record keeps what is drawn.
json shortened(const json& x) {
  if (x.is_number_float()) return std::stod(fmt::format("{:.3e}", x.get<double>()));
  if (!x.is_structured()) return x;
  json out = x;
  for (json& part : out) part = shortened(part);
  return out;
}

json kept(const Case& test, const Contraction& c, const Operands& operands, int threads) {
  DriftOptions options;
  options.max_terms = kLookedAt;
  options.threads = threads;
  if (test.tolerance) options.tolerance = *test.tolerance;
  const DriftReport report = drift(c, operands, drift_plans(c, test.out), options);
  json out = to_json(report);
  for (json& row : out["rows"])
    for (const char* key : {"violations", "nonfinite", "headroom", "max_scaled"}) row.erase(key);
  out = shortened(out);
  out["looked_at"] = report.looked_at;
  const OrderSpread& s = report.spreads.front();
  out["summary"] =
      test.tolerance && test.tolerance->atol > 0
          ? order_accounts_for(report, test.tolerance->atol, "a mismatch as large as the tolerance's atol")
                .sentence
          : fmt::format(
                "{} orders of {} moved a result by at most {:.2g}; no two orders can differ by more "
                "than {:.2g}.",
                s.orders, s.arithmetic, s.observed, s.bound);
  return out;
}

std::int64_t inputs_of(const Problem& p) {
  return elements(p.a) + (p.b.empty() ? 0 : elements(p.b));
}

}  // namespace

json to_json(const DriftReport& r) {
  json rows = json::array(), spreads = json::array();
  for (const DriftRow& x : r.rows)
    rows.push_back({{"arithmetic", x.arithmetic},
                    {"plan", x.plan},
                    {"max_abs", json_number(x.max_abs)},
                    {"mean_abs", json_number(x.mean_abs)},
                    {"mean_signed", json_number(x.mean_signed)},
                    {"max_scaled", json_number(x.max_scaled)},
                    {"violations", x.violations},
                    {"nonfinite", x.nonfinite},
                    {"bound", json_number(x.bound)},
                    {"headroom", json_number(x.headroom)},
                    {"from_first", json_number(x.from_first)}});
  for (const OrderSpread& s : r.spreads)
    spreads.push_back({{"arithmetic", s.arithmetic},
                       {"orders", s.orders},
                       {"observed", json_number(s.observed)},
                       {"bound", json_number(s.bound)}});
  return {{"rows", rows}, {"spreads", spreads}};
}

json drift_of_case(const Case& test, int threads) {
  try {
    const Case small = reduced_case(test, kMostElements);
    const Contraction c = lower(small.problem);
    if (inputs_of(small.problem) > kMostGiven || c.terms() > kMostTerms) return nullptr;
    const Inputs inputs = make_inputs(small, threads);
    return kept(test, c, inputs.operands(), threads);
  } catch (const Error&) {
    return nullptr;  // a plan that this format does not have, say: the results stand without it
  }
}

json drift_of_operands(const Case& test, const Operands& operands, int threads) {
  try {
    const Contraction c = lower(test.problem);
    if (inputs_of(test.problem) > kMostGiven || c.terms() > kMostTerms) return nullptr;
    return kept(test, c, operands, threads);
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace ulpscope
