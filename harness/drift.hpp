#pragma once
// How far results move when only the order of additions changes, and when the arithmetic changes: one case
// replayed under many plans. What order alone did, what it can do at most, and whether it accounts for a
// mismatch that someone observed.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "reference/plan.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {

struct DriftPlan {
  std::string arithmetic;  // plans of one arithmetic differ in order only: "fp32 fma"
  Plan plan;
};

/// At least 20 plans for a contraction and an output format: sequential, reversed, permuted axes, chunks,
/// pairwise, splits, lanes, shuffle trees and random permutations of an fp32 FMA sum, and the other
/// arithmetics (separate products, compensated, double, TF32 in three roundings, block steps, bf16, fp16).
std::vector<DriftPlan> drift_plans(const Contraction& c, DType out);

struct DriftRow {
  std::string arithmetic, plan;
  double max_abs = 0, mean_abs = 0, mean_signed = 0;  // against the true values
  double max_scaled = 0;                              // largest |error| / (2^-24 * S)
  std::int64_t violations = 0, nonfinite = 0;
  double bound = 0, headroom = 0;  // largest per-output bound; largest |error| / bound
  double from_first = 0;           // largest difference from the first plan's result
};

/// Orders of one arithmetic against each other.
struct OrderSpread {
  std::string arithmetic;
  std::int64_t orders = 0;
  double observed = 0;  // largest difference between two of them at one output
  double bound = 0;     // what no two correct orders can exceed at any output looked at
};

struct DriftReport {
  std::int64_t outputs = 0, looked_at = 0;
  Tolerance tolerance;
  std::vector<DriftRow> rows;
  std::vector<OrderSpread> spreads;  // in the order of first appearance; the first is fp32 FMA's
};

struct DriftOptions {
  Tolerance tolerance;
  std::int64_t max_terms = std::int64_t{1} << 22;  // looked at per plan
  int threads = 0;
};

/// Replays every plan on evenly spread runs of outputs.
DriftReport drift(const Contraction& c, const Operands& operands, const std::vector<DriftPlan>& plans,
                  const DriftOptions& options);

/// "order cannot account for ...": of an observed difference between two results of `spread`'s arithmetic.
struct OrderVerdict {
  bool can = false;   // within the bound
  bool seen = false;  // within what these orders showed
  std::string sentence;
};
OrderVerdict order_accounts_for(const DriftReport& report, double observed, const std::string& what);

}  // namespace ulpscope
