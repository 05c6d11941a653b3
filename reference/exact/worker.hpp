#pragma once
// What one thread does to one tile of an exact sum. Private to exact.cpp and its worker.
#include <functional>
#include <optional>
#include <vector>

#include "reference/exact.hpp"
#include "reference/exact/compensated.hpp"
#include "reference/exact/decide.hpp"
#include "reference/exact/kernel.hpp"
#include "reference/tiles.hpp"

namespace ulpscope {

/// The fixed summation tree: terms in chunks of kChunkTerms, chunks in segments of kSegmentTerms, segments in
/// order.
struct SumTree {
  std::int64_t terms = 0, segments = 1;
  double error_per_s = 0;  // |computed - true| / computed S, with room for the roundings of the certificate
  double inflate = 1;      // computed S * inflate >= true S
  double compensated_error_per_s = 0;  // the same for the tile's compensated sums
};
SumTree sum_tree(const Contraction& c);

/// Tile sizes that keep panels in the second-level cache; they do not depend on threads.
TileShape exact_tile_shape(const SumTree& tree);

class ExactWorker {
 public:
  using Visit = std::function<void(const ExactRow&)>;

  ExactWorker(const TileGrid& grid, const Operands& operands, const ExactOptions& options,
              const SumTree& tree, const Visit& visit);

  /// Sums and settles a tile of one segment.
  void whole(const Tile& tile);

  /// Long sums: fp64 sums of one segment of a tile into sum and magnitude, both [columns padded][lanes
  /// padded] ...
  void segment(const Tile& tile, std::int64_t segment, double* sum, double* magnitude);
  /// ... and the settling of a tile, given its segments one after another. The first is overwritten.
  void settle_segments(const Tile& tile, double* sums, double* magnitudes);

  static std::int64_t padded_lanes(const Tile& tile);
  static std::int64_t padded_outputs(const Tile& tile);

  const ExactTally& tally() const { return tally_; }

 private:
  void move_to(const Tile& tile);
  void pack_chunk(std::int64_t first, std::int64_t count);
  void sum_rows(std::int64_t column, double* sum, double* magnitude);
  void finish(std::int64_t column, const double* sum, const double* magnitude);
  void run_finish(FinishJob& job);
  void divide(FinishJob& job);
  void find_quanta();
  void row_bias(std::int64_t column);
  void row_quanta(FinishJob& job, std::int64_t column);
  void compensate_tile();
  bool settle_from_tile(std::int64_t column, std::int64_t lane);
  bool take(const std::optional<Settled>& settled, std::size_t lane);
  double bias_of(std::size_t lane) const { return lane_bias_varies_ ? lane_bias_[lane] : column_bias_; }
  void settle_open(std::int64_t column, std::int64_t lane);
  bool settle_from_panels(std::int64_t column, std::int64_t lane);
  void emit(std::int64_t column);

  const TileGrid& grid_;
  const Contraction& c_;
  const Operands& operands_;
  const ExactOptions& options_;
  const SumTree& tree_;
  const Visit& visit_;
  TilePacker packer_;
  TermBlock terms_;
  Decider decider_;
  ExactTally tally_;

  // the tile at hand
  std::int64_t lanes_ = 0, lanes_padded_ = 0, columns_ = 0;
  std::array<std::int64_t, 4> packed_columns_{-1, -1, -1,
                                              -1};  // key of the columns packed last (one chunk in all)
  bool have_quanta_ = false, have_compensated_ = false;
  bool lane_bias_varies_ = false;
  std::vector<double> lane_panels_, column_panels_;
  std::vector<double> lane_quantum_, column_quantum_, row_quantum_;
  std::vector<double> lane_bias_;
  std::vector<double> tile_head_, tile_error_;  // compensated sums of the whole tile: [column][lane]
  double column_bias_ = 0;
  std::vector<double> row_sum_, row_magnitude_, value_, bound_;
  std::vector<std::uint32_t> rounded_;
  std::vector<std::uint8_t> open_;
};

}  // namespace ulpscope
