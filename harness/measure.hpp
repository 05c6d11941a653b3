#pragma once
// One pass over candidate and exact. Order-free: any number of threads, shards or slab sizes gives the same
// figures, because counts are integers, maxima carry the smallest index, and sums are exact.
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/exact.hpp"

namespace ulpscope {

/// Figures of one candidate against the true values. Errors are candidate - true real value; ULP are of the
/// output format at the true value; scaled is |error| / (2^-24 * S).
struct Measurement {
  std::int64_t outputs = 0;
  std::int64_t finite_pairs = 0;
  std::int64_t nonfinite = 0;           // pairs where either side is not finite
  std::int64_t nonfinite_mismatch = 0;  // ... and they are not the same class (NaN / +inf / -inf)
  std::int64_t zero_sign_mismatch = 0;  // +0 against -0
  std::int64_t equal_bits = 0;          // same bits as the correctly rounded value
  double max_abs = 0, mean_abs = 0, mean_signed = 0;
  double max_ulp = 0, p50_ulp = 0, p99_ulp = 0, p999_ulp = 0;
  double max_scaled = 0;  // may be infinite (S = 0 and result not 0)
  double bound = 0;       // largest per-output bound
  double headroom = 0;    // max of |error| / bound: above 1 violates
  std::int64_t beyond_bound = 0;
  std::int64_t violations = 0;  // of atol/rtol
  struct Worst {                // the element with the largest scaled error
    std::int64_t index = -1;
    std::vector<std::int64_t> coordinates;
    double candidate = 0, exact = 0, error = 0, ulp = 0, magnitude = 0, condition = 0;
    std::int64_t terms = 0;
  } worst;
  nlohmann::json strata;  // by number of valid taps, channel, position modulo tile
  nlohmann::json ulp_histogram;
};

}  // namespace ulpscope
