#pragma once
// What to expect before a run: for each arithmetic the bound that must hold, the expected maximum and mean,
// the probability that a correct implementation violates a tolerance, and the tolerance for a given
// probability.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "harness/statistics/error_model.hpp"
#include "reference/plan.hpp"

namespace ulpscope {

struct NamedPlan {
  std::string name;  // "tf32"
  Plan plan;
};

/// What a correct kernel of each arithmetic does by default: fp32 (an FMA chain), tf32 (rounded to nearest
/// even; also `tf32_rz`, truncated), bf16 and fp16 on Hopper's tensor cores, all written in format `out`.
std::vector<NamedPlan> usual_plans(DType out);
NamedPlan usual_plan(const std::string& name, DType out);  // throws Error naming the choices

/// Judged against the exact result, or against another correct implementation.
struct Judged {
  std::string against;  // "exact", "tf32", ...
  double expected_max = 0, expected_mean = 0, expected_signed = 0;
  double share = 0;   // of outputs expected to violate the tolerance
  double p_fail = 0;  // P(a correct implementation violates it anywhere)
  double atol = 0;    // smallest two-digit atol with P(fail) below the wanted one, rtol as given
};

struct Forecast {
  std::string name, plan;
  double bound = 0;  // largest over the outputs looked at; infinite if overflow cannot be excluded
  std::string formula;
  std::vector<Judged> judged;  // against exact first
  /// Over fresh data from the same distributions, where the problem is small: mean P(fail) against exact.
  std::optional<double> p_fail_over_seeds;
  std::int64_t seeds = 0;
};

struct ForecastOptions {
  Tolerance tolerance;
  double p_fail = 1e-3;
  std::int64_t max_terms = std::int64_t{1} << 21;  // looked at per model
  std::int64_t seeds = 256;                        // data sets for small problems, at most; 0: none
  Roundings roundings = Roundings::random;
  int threads = 0;
};

struct ForecastReport {
  std::int64_t outputs = 0, looked_at = 0;
  Tolerance tolerance;
  double p_fail = 0;
  std::vector<Forecast> plans;
};

/// From a case: its data is generated where it is looked at, so the largest cases cost seconds. Bounds of
/// cases with more than 2^24 input elements look at a smaller piece of the same distribution.
ForecastReport forecast(const Case& c, const std::vector<NamedPlan>& plans,
                        const std::vector<NamedPlan>& references, const ForecastOptions& options);

/// From tensors.
ForecastReport forecast(const Contraction& c, const Operands& operands, const std::vector<NamedPlan>& plans,
                        const std::vector<NamedPlan>& references, const ForecastOptions& options);

/// Can a correct kernel meet a tolerance on these outputs? Against `reference`'s likes, or against exact.
struct Attainability {
  double p_fail_fp32 = 0, p_fail_tf32 = 0;        // P(any violation)
  bool fp32 = false, tf32 = false;                // below 1e-3
  double suggested_atol = 0, suggested_rtol = 0;  // smallest two-digit atol that makes fp32 attainable
};
Attainability attainability(const Contraction& c, const ModelData& data, const Plan* reference, DType out,
                            const Tolerance& tolerance, const ModelOptions& options = {});

/// A case of the same distributions and the same sums with fewer outputs: at most about `elements` elements
/// of input where the operator allows it.
Case reduced_case(const Case& c, std::int64_t elements);

}  // namespace ulpscope
