#pragma once
// Implicit matrix product over any contraction: bulk work (exact sums, replay) cuts a run of outputs into
// tiles, packs the operands of a tile into dense panels, in any order of terms, and runs a small kernel over
// the panels.
//
// A tile is lanes x columns outputs. Lanes run along the operand that moves with the innermost output axis (A
// for convolutions: positions; B for a row-major gemm: j), so that neighbouring lanes are neighbouring
// outputs; columns run along the other operand. Axes that move both (groups, a gemm's batch) are fixed within
// a tile.
//
//   TileGrid grid(c, begin, count, {256, 96});
//   for_each_tile(grid, threads, [&] {                              // called once per thread: scratch lives
//   here
//     return [&, packer = TilePacker(grid, operands), terms = TermBlock(c), ...](const Tile& tile) mutable {
//       packer.move_to(tile);
//       terms.assign_range(0, n);                                   // or assign(ids, n): a plan's own order
//       packer.pack(Side::lanes, terms, 8, lane_panels.data());     // [ceil(lanes/8)][n][8]
//       packer.pack(Side::columns, terms, 3, column_panels.data()); // [ceil(columns/3)][n][3]
//       ... out[packer.lane_out()[l] + packer.column_out()[u]] = ...
//     };
//   });
//
// Sums over many terms are packed in chunks: call assign and pack once per chunk. Terms that fall into
// padding are packed as +0 (as implicit-GEMM kernels do); `valid` tells them from real zeros where that
// matters.
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/exact.hpp"
#include "reference/parallel.hpp"
#include "reference/simd.hpp"
#include "reference/terms.hpp"

namespace ulpscope {

enum class Operand : std::uint8_t { a, b };
enum class Side : std::uint8_t { lanes, columns };

/// The largest tile: outputs along each side.
struct TileShape {
  std::int64_t lanes = 256, columns = 96;
};

/// A tile of a grid: which outputs it holds. TilePacker::move_to turns it into offsets.
struct Tile {
  std::size_t box = 0;                         // of the grid
  std::array<std::int64_t, kMaxAxes> batch{};  // coordinates along the axes fixed within the tile
  std::int64_t first_lane = 0, lanes = 0;      // positions along the lane axes, flattened, within the box
  std::int64_t first_column = 0, columns = 0;
};

/// Outputs [begin, begin + count) of a contraction as tiles: each output is in exactly one. Tiles of one
/// batch position and column block follow each other, so a packed column panel can be kept
/// (TilePacker::columns_key).
class TileGrid {
 public:
  TileGrid(const Contraction& c, std::int64_t begin, std::int64_t count, TileShape shape = {});

  std::int64_t tiles() const { return first_tile_.back(); }
  Tile tile(std::int64_t i) const;
  const Contraction& contraction() const { return c_; }
  std::int64_t begin() const { return begin_; }
  Operand operand(Side side) const {
    return side == Side::lanes ? lanes_ : lanes_ == Operand::a ? Operand::b : Operand::a;
  }
  const TileShape& shape() const { return shape_; }

 private:
  friend class TilePacker;
  struct Box {  // a product of intervals of the output axes
    std::array<std::int64_t, kMaxAxes> from{}, size{};
    std::int64_t batches = 1, lanes = 1, columns = 1;
  };
  void split(std::size_t axis, std::int64_t lo, std::int64_t hi, Box box);

  Contraction c_;
  std::int64_t begin_;
  TileShape shape_;
  Operand lanes_ = Operand::a;
  std::vector<std::size_t> batch_axes_, lane_axes_, column_axes_;  // indices into c_.out, outermost first
  std::vector<Box> boxes_;
  std::vector<std::int64_t> first_tile_{0};  // per box, and the total
};

/// A run of terms in the order in which they are to be packed, taken apart once and used for many tiles.
class TermBlock {
 public:
  explicit TermBlock(const Contraction& c);
  void assign(std::span<const std::int64_t> ids);             // term numbers as in Term::id
  void assign_range(std::int64_t first, std::int64_t count);  // canonical order: first, first + 1, ...
  std::int64_t size() const { return static_cast<std::int64_t>(address_[0].size()); }

 private:
  friend class TilePacker;
  void push(const std::array<std::int64_t, kMaxAxes>& step);

  const Contraction* c_;
  std::vector<std::size_t> coupled_;                  // reduction axes with a coupling
  std::array<std::vector<std::int64_t>, 2> address_;  // what the term adds to the address in A, in B
  std::array<std::vector<std::int64_t>, 3> quotient_, residue_;  // per coupled axis; see tiles_pack.hpp
};

/// Packs one tile's operands; one per thread (it owns scratch). Operands must outlive it.
class TilePacker {
 public:
  TilePacker(const TileGrid& grid, const Operands& operands, SimdLevel level = simd_level());

  void move_to(const Tile& tile);

  /// Packs the block's terms into dst[ceil(n/width)][terms.size()][width], n the tile's lanes or columns,
  /// converted to T; positions beyond n and terms in padding are +0. Where `valid` is given, it has the same
  /// layout and gets 1 for existing terms, 0 for the others. Throws Error if an operand is shorter than the
  /// contraction needs.
  template <class T>  // float or double
  void pack(Side side, const TermBlock& terms, int width, T* dst, std::uint8_t* valid = nullptr);

  /// Linear output relative to the grid's begin: lane_out()[l] + column_out()[u].
  std::span<const std::int64_t> lane_out() const { return out_[0]; }
  std::span<const std::int64_t> column_out() const { return out_[1]; }
  /// Index into the bias: lane_bias()[l] + column_bias()[u] (all 0 without bias).
  std::span<const std::int64_t> lane_bias() const { return bias_[0]; }
  std::span<const std::int64_t> column_bias() const { return bias_[1]; }
  /// Equal keys: the same column positions, so a column panel packed from the same terms can be used again.
  std::array<std::int64_t, 4> columns_key() const { return key_; }
  /// True if any term of the operator may fall into padding for this tile (a cheap upper bound over its
  /// lanes).
  bool may_miss_taps() const { return may_miss_; }

 private:
  void place(Side side, const Tile& tile);
  void find_runs(Side side);

  const TileGrid* grid_;
  Operands operands_;
  SimdLevel level_;
  std::array<std::int64_t, 4> key_{};
  bool may_miss_ = false;
  std::array<std::vector<std::int64_t>, 2> out_, bias_, address_;  // by side
  std::array<std::vector<std::int64_t>, 3> quotient_, residue_;    // of A's side, per coupled axis
  std::vector<std::size_t> coupled_;
  struct Run {
    std::int64_t first, length, address_step;
    std::array<std::int64_t, 3> coordinate_step;
  };
  std::array<std::vector<Run>, 2> runs_;  // by side: stretches of evenly spaced addresses
  std::vector<std::byte> row_;            // scratch
};

/// Runs make() once per thread and the callable it returns on every tile.
template <class MakeWorker>
void for_each_tile(const TileGrid& grid, int threads, MakeWorker make) {
  if (threads <= 0) threads = hardware_threads();
  std::atomic<std::int64_t> next{0};
  const std::int64_t tiles = grid.tiles();
  parallel_for(threads < tiles ? threads : tiles, threads, [&](std::int64_t) {
    auto work = make();
    for (std::int64_t i = next++; i < tiles; i = next++) work(grid.tile(i));
  });
}

}  // namespace ulpscope
