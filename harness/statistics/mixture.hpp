#pragma once
// Errors of many outputs, each with its own distribution, and what follows for all of them together: the
// expected mean and maximum, the probability that any violates a tolerance, and the tolerance for a given
// probability.
//
// Outputs share operands, so their errors are not independent. Treating them so overstates the probability
// that any of them exceeds its limit (Sidak's inequality, JASA 62, 1967, for normal errors): the safe side.
#include <cstdint>
#include <functional>
#include <vector>

#include "harness/statistics/tail.hpp"

namespace ulpscope {

/// The error (result - true value, or one result - another) that one output is expected to have.
struct OutputError {
  double value = 0;      // true value
  double magnitude = 0;  // S = sum |a||b| (+ |bias|)
  double offset = 0;     // expected signed error: truncation, known rounding errors
  Spread spread;         // operand roundings and accumulation about it
  double half = 0;       // half a unit of the rounding to the output format, where it comes on top
  /// 16-bit results against 16-bit results: the difference is a multiple of this; else 0.
  double grid = 0;

  /// P(|error| > limit).
  double exceeds(double limit) const;
};

/// The contributions to one output, one by one, for the few outputs that decide a tail.
struct Contributions {
  std::vector<double> halves;  // half widths of uniform contributions
  double normal_variance = 0;
};

struct ErrorMixture {
  std::vector<OutputError> outputs;  // all outputs or a sample of them
  std::int64_t total = 0;            // outputs that the sample stands for
  double weight() const {
    return outputs.empty() ? 0 : static_cast<double>(total) / static_cast<double>(outputs.size());
  }
  /// Contributions to outputs[i]; may be empty. Used where `spread` is too coarse.
  std::function<Contributions(std::size_t i)> contributions;
};

double expected_mean_abs(const ErrorMixture& m);
double expected_mean_signed(const ErrorMixture& m);

/// Expected maximum of |error| over all `total` outputs.
double expected_max_abs(const ErrorMixture& m);
/// The value that the maximum stays below with probability p.
double quantile_of_max(const ErrorMixture& m, double p);

/// Expected share of the outputs with |error| > atol + rtol*|value|.
double violating_share(const ErrorMixture& m, double atol, double rtol);
/// P(any of all outputs violates): 1 - product of (1 - p_i).
double fail_probability(const ErrorMixture& m, double atol, double rtol);

/// The smallest atol of two decimal digits with fail_probability below `p` (0 if none is needed; infinity if
/// none suffices).
double smallest_atol(const ErrorMixture& m, double rtol, double p);

/// Two-digit decimals in order: 1.0e-k ... 9.9e-k, 1.0e-(k-1); the smallest that is >= x.
double two_digits_up(double x);

}  // namespace ulpscope
