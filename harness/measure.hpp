#pragma once
// One pass over candidate and exact. Order-free: any number of threads, shards or slab sizes gives the same
// figures, because counts are integers, maxima carry the smallest index, and sums are exact.
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "harness/measure_block.hpp"
#include "harness/measure_strata.hpp"
#include "harness/measure_sum.hpp"
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
  std::int64_t max_abs_index = -1;  // smallest index where it is reached; -1 where there is no error
  double max_ulp = 0, p50_ulp = 0, p99_ulp = 0, p999_ulp = 0;
  double max_scaled = 0;            // may be infinite (S = 0 and result not 0)
  double bound = 0;                 // largest per-output bound
  double headroom = 0;              // max of |error| / bound: above 1 violates
  std::int64_t beyond_bound = 0;    // outputs outside their bound, wrong kinds of NaN and infinity included
  std::int64_t nan_beyond = 0;      // ... of them, NaN where the exact result is none
  std::int64_t flushed_beyond = 0;  // ... of them, zeros where the exact result is a subnormal number
  std::int64_t unbounded = 0;   // outputs for which overflow cannot be excluded: nothing is claimed of them
  std::int64_t violations = 0;  // of atol/rtol, both 0 if not given
  struct Worst {                // the element with the largest scaled error
    std::int64_t index = -1;
    std::vector<std::int64_t> coordinates;
    double candidate = 0, exact = 0, error = 0, ulp = 0, magnitude = 0, condition = 0;
    std::int64_t terms = 0;
  } worst;
  nlohmann::json strata;  // by number of valid taps, channel, position modulo tile
  nlohmann::json ulp_histogram;
};

/// The figures of a measurement as `error` of a record and the sides of an explanation both have them.
nlohmann::json figures_of(const Measurement& m);

/// Outputs are off although their data make every sum exact, in any order: the bound is zero everywhere.
inline bool misses_exact_sums(const Measurement& m) {
  return m.bound == 0 && m.beyond_bound > m.nonfinite_mismatch;
}

/// The limit of each output's error: per_s * S + absolute, for outputs whose S lies below overflow_s.
struct OutputBound {
  double per_s = 0, absolute = 0;
  double overflow_s = std::numeric_limits<double>::infinity();
  std::string formula;  // the derivation in one line
};

/// What a measurement is made with; the same for all its accumulators.
struct MeasureSetup {
  DType out = DType::f32;  // format of the candidate: fp32, fp16 or bf16
  OutputBound bound;
  std::optional<Tolerance> tolerance;  // without one, violations stay 0
  /// An upper limit of S over all outputs, known before any output is seen (harness/bound.hpp). Errors below
  /// 2^-9 of it are summed as whole multiples of 2^-60 of it, larger ones exactly; 0: all exactly, which is
  /// slower.
  double magnitude_limit = 0;
};

/// Accumulates one candidate against the true values. add() may come in any order and split, from several
/// accumulators merged afterwards: the result is the same.
class Measurer {
 public:
  /// Throws Error for fp64, which the exact reference does not round to.
  Measurer(std::shared_ptr<const StrataMap> map, const MeasureSetup& setup);

  /// Outputs [begin, begin + count): candidate in the storage format of `out`; the others as exact() gives
  /// them.
  void add(std::int64_t begin, std::int64_t count, const void* candidate, const double* value,
           const double* magnitude, const std::uint32_t* rounded);
  void merge(const Measurer& other);
  Measurement result(const Shape& out_shape) const;  // the shape gives the worst element's coordinates

 private:
  struct Extreme {  // a maximum and the smallest index that reaches it
    double value = 0;
    std::int64_t index = -1;
    bool can_move(double v, std::int64_t i) const { return v > value || (v == value && v > 0 && i < index); }
  };
  std::shared_ptr<const StrataMap> map_;
  MeasureSetup setup_;
  MeasureScale scale_;
  bool has_bound_ = true;
  double sum_limit_ = 0, quantum_ = 0;
  Measurement counts_;  // its counters and plain maxima; means, percentiles and strata are derived at the end
  double max_magnitude_ = 0;
  Extreme max_abs_, max_scaled_;  // the latter of |error| / S
  double worst_candidate_ = 0, worst_value_ = 0, worst_magnitude_ = 0;
  __int128 quanta_ = 0, abs_quanta_ = 0;
  ExactSum sum_, abs_sum_;  // of errors too large to count in quanta
  std::vector<std::int64_t> bins_;
  Strata strata_;

  void add_block(std::int64_t begin, const BlockInput& block);
  void add_one_by_one(std::int64_t begin, const BlockInput& block);
  void add_sums(const BlockInput& block, const BlockScan& scan);
  void look_again(std::int64_t begin, const BlockInput& block);
  void add_nonfinite(const BlockInput& block, int i);
  void count_flushed(const BlockInput& block, const BlockDetail& d);
};

/// Candidate against another result of the same outputs: error = candidate - reference, both taken as they
/// are.
struct PairMeasurement {
  std::int64_t outputs = 0, finite_pairs = 0, nonfinite = 0, nonfinite_mismatch = 0, zero_sign_mismatch = 0;
  std::int64_t equal_bits = 0;  // where the formats differ: equal as fp32 bits
  double max_abs = 0, mean_abs = 0, mean_signed = 0;
  std::int64_t max_abs_index = -1;
  std::int64_t violations = 0;  // not |c - r| <= atol + rtol * |r|
  nlohmann::json strata;        // their max_scaled is without meaning here and left out
};

class PairMeasurer {
 public:
  PairMeasurer(std::shared_ptr<const StrataMap> map, DType candidate, DType reference,
               std::optional<Tolerance> tolerance);
  void add(std::int64_t begin, std::int64_t count, const void* candidate, const void* reference);
  void merge(const PairMeasurer& other) { measurer_.merge(other.measurer_); }
  PairMeasurement result() const;

 private:
  DType candidate_, reference_;
  Measurer measurer_;  // of the candidate, with the reference in the true value's place and S = 1
};

/// Lends accumulators to threads, so that there are no more of them than threads, and merges them at the end.
/// Which thread fed which one does not matter to the figures.
class MeasurerPool {
 public:
  explicit MeasurerPool(Measurer empty) : empty_(std::move(empty)) {}
  void add(std::int64_t begin, std::int64_t count, const void* candidate, const double* value,
           const double* magnitude, const std::uint32_t* rounded);
  Measurement result(const Shape& out_shape) const;

 private:
  Measurer empty_;
  std::mutex guard_;
  std::vector<std::unique_ptr<Measurer>> idle_;
};

/// Whole arrays in one call (tests, small problems, explain): chunks in parallel, same figures for any
/// number.
Measurement measure(const Contraction& c, const MeasureSetup& setup, std::int64_t begin, std::int64_t count,
                    const void* candidate, const double* value, const double* magnitude,
                    const std::uint32_t* rounded, int threads = 0);

/// The upper edge of a bin of the |ULP| histogram: what percentiles report. 0 for the bin of exact hits.
double ulp_bin_upper_edge(int bin);

}  // namespace ulpscope
