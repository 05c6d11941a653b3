#pragma once
// Where errors sit: maxima by number of terms (an edge has fewer taps), by channel, and by position on the
// innermost axis modulo a tile. A kernel that mishandles a tail, a lane or a channel shows here.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "harness/measure_block.hpp"
#include "reference/contraction.hpp"

namespace ulpscope {

/// The geometry, worked out once per contraction and shared by all accumulators. Outputs are taken in planes:
/// runs of consecutive outputs of one channel (convolutions) or one row (matrices), on which positions are
/// counted.
class StrataMap {
 public:
  explicit StrataMap(const Contraction& c);

  std::int64_t plane_size() const { return plane_; }
  std::int64_t terms_at(std::int64_t o) const;  // number of valid terms of output o
  int channel_group_at(std::int64_t o) const;   // 0 where there are no channels

  /// A run of outputs from `o` on, at most `limit` long, with one number of terms.
  struct Run {
    std::int64_t length = 0;
    int taps_class = 0;
  };
  Run run_at(std::int64_t o, std::int64_t limit) const;

  int taps_classes() const { return static_cast<int>(taps_.size()); }
  std::int64_t taps_of_class(int i) const { return taps_[static_cast<std::size_t>(i)]; }
  int channel_groups() const { return channel_groups_; }  // 0: no channel axis outside the planes
  std::int64_t channels_per_group() const { return channels_per_group_; }

 private:
  struct InnerRun {
    std::int64_t to, taps;
  };
  struct Axis {
    std::int64_t size = 1;
    std::vector<std::int64_t> taps;  // valid terms along the coupled reduction axis, by position; empty: none
  };
  std::vector<Axis> outer_;  // all but the innermost axis, outermost first
  std::int64_t plane_ = 1, inner_size_ = 1, free_terms_ = 1;
  std::vector<InnerRun> inner_runs_;
  std::vector<std::int64_t> taps_;  // distinct numbers of terms, ascending
  int channel_groups_ = 0;
  std::int64_t channels_ = 1, channels_per_group_ = 1;
};

/// Running maxima for one measurement, and the thresholds below which an output cannot raise any of them.
class Strata {
 public:
  explicit Strata(std::shared_ptr<const StrataMap> map);

  struct Thresholds {
    double error = 0, scaled = 0;         // of the strata that the block touches, less positions
    const double* by_position = nullptr;  // kTile entries, twice over
    int position = 0;                     // of the block's first output, modulo kTile
  };
  /// Counts the outputs of a block (which lies in one plane) and says what could change a maximum.
  Thresholds enter(std::int64_t begin, int n);
  /// Takes the count of enter() back.
  void leave(std::int64_t begin, int n) { count(begin, n, -1); }
  /// Thresholds of single positions were passed: takes the maxima of the block.
  void raise(std::int64_t begin, int n, const double* error, const double* scaled);
  void merge(const Strata& other);
  nlohmann::json to_json() const;

 private:
  struct Maxima {
    std::int64_t outputs = 0;
    double error = 0, scaled = 0;
    void raise(double e, double s);
  };
  std::shared_ptr<const StrataMap> map_;
  std::vector<Maxima> by_taps_, by_channel_;
  double position_scaled_[kTile] = {};
  double position_threshold_[2 * kTile] = {};

  void count(std::int64_t begin, int n, int sign);
  void set_threshold(int position);
};

/// A hair below a maximum of |error| / S, so that no rounding of threshold * S hides an equal or larger
/// quotient.
inline double threshold_below(double maximum) {
  return maximum < 1e300 ? maximum * (1 - 0x1p-50) : 1e300;
}

/// JSON has no infinity: "inf" stands for it.
nlohmann::json json_number(double x);
/// The way back; no value for anything else.
std::optional<double> number_of(const nlohmann::json& value);

}  // namespace ulpscope
