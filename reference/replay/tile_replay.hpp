#pragma once
// Replay of tiles of outputs: a program run on panels, many outputs at once. What replay() is made of.
#include <cstdint>
#include <optional>
#include <vector>

#include "reference/plan/plan_types.hpp"
#include "reference/plan/program.hpp"
#include "reference/replay/kernels.hpp"
#include "reference/replay/scalar.hpp"
#include "reference/tiles.hpp"

namespace ulpscope {

/// How a plan can be run in bulk: accumulators in fp32, in fp64, or one output at a time.
enum class Engine : std::uint8_t { narrow, wide, scalar };
Engine engine_for(const Plan& plan);

/// A program cut at chunk boundaries, so that panels of a chunk of places fit the cache; shared by all
/// threads.
class ChunkedProgram {
 public:
  ChunkedProgram(const Program& program, const Contraction& c);

  const Program& program;
  std::int64_t length = 0;            // places per chunk
  std::vector<Op> ops;                // chains rewritten to places within their chunk
  std::vector<std::size_t> first_op;  // by chunk, and the total
  bool has_empty_places = false;
  std::vector<TermBlock> terms;  // by chunk; empty if there are too many to keep
  std::int64_t chunks() const { return static_cast<std::int64_t>(first_op.size()) - 1; }
  std::int64_t places_in(std::int64_t chunk) const;
  void term_ids(std::int64_t chunk, std::vector<std::int64_t>& ids) const;
};

/// The tile for which registers and panels stay in the second-level cache.
TileShape tile_shape_for(const Program& program, Engine engine);

class TileReplay {
 public:
  TileReplay(const Plan& plan, const ChunkedProgram& chunked, const TileGrid& grid, const Operands& operands,
             std::uint32_t* out);
  void operator()(const Tile& tile);

 private:
  template <class T>
  void pack(Side side, const TermBlock& terms, std::int64_t chunk, int width, std::int64_t count,
            std::vector<T>& panel, std::vector<std::int32_t>& exponent);
  template <class T>
  void shorten_rows(Operand operand, std::int64_t chunk, int width, std::int64_t panels, T* panel) const;
  template <class T>
  void run(std::vector<T>& registers, std::int64_t chunk, std::int64_t lane_panel, std::int64_t column_panel);
  void chain(const Op& op, std::int64_t n, std::int64_t lane_panel, std::int64_t column_panel, float* acc);
  void chain(const Op& op, std::int64_t n, std::int64_t lane_panel, std::int64_t column_panel, double* acc);
  template <class T>
  void start(const Op& op, std::int64_t lane_panel, std::int64_t column_panel, T* acc) const;
  template <class T>
  void store(const std::vector<T>& registers);
  bool zeros_packed() const { return packer_.may_miss_taps() || chunked_.has_empty_places; }
  double bias_of(std::int64_t lane, std::int64_t column) const;
  template <class T>
  void replay_tile(std::vector<T>& registers);

  const Plan& plan_;
  const ChunkedProgram& chunked_;
  const TileGrid& grid_;
  const Operands& operands_;
  std::uint32_t* out_;
  Engine engine_;
  const ReplayKernels& kernels_;
  TilePacker packer_;
  TermBlock scratch_terms_;
  std::vector<std::int64_t> ids_;
  Tile tile_;
  int columns_wide_ = kColumns;  // of a column panel
  std::int64_t lane_panels_ = 0, column_panels_ = 0;
  std::optional<std::array<std::int64_t, 4>> packed_key_;
  int packed_wide_ = 0;
  std::vector<float> lanes_, columns_, registers_, compensation_;
  std::vector<double> lanes64_, columns64_, registers64_;
  std::vector<std::int32_t> lane_exponent_, column_exponent_;
  std::array<double, 2> smallest_{};  // by side: least magnitude packed, zeros apart
  std::optional<ScalarReplay> scalar_;
};

}  // namespace ulpscope
