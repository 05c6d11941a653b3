// Eigen: tiles of the contraction packed into two dense matrices (im2col), multiplied by Eigen in fp32.
// Order: Eigen's own blocking over chunks of 512 terms; not declared, and not the same from one Eigen to the
// next. Promise: fp32; products and sums rounded, possibly fused: the bound of any order. Cost: packing once
// per tile, then a library's matrix product.
#include <Eigen/Core>
#include <cmath>

#include "kernels/host/rows.hpp"
#include "reference/tiles.hpp"

namespace ulpscope::host {
namespace {

constexpr std::int64_t kTerms = 512;
constexpr TileShape kTile{256, 128};

/// Taps on padding were packed as zeros: beside an infinity that gives NaN. Such outputs are summed again
/// without them.
float sum_existing(const Contraction& c, const FloatOperands& operands, std::int64_t output) {
  float sum = 0;
  for_each_term(c, output, [&](std::int64_t a, std::int64_t b, std::int64_t) {
    sum = std::fma(operands.a[a], c.b_is_ones ? 1.0f : operands.b[b], sum);
  });
  return sum;
}

LaunchNotes launch(const LaunchArgs& args) {
  const Contraction& c = *args.contraction;
  const FloatOperands floats = widen(args);
  const Operands operands{{floats.a, DType::f32, {c.a_size}},
                          {floats.b, DType::f32, {c.b_size}},
                          {floats.bias, DType::f32, {c.bias_size}}};
  const auto divisor = static_cast<float>(c.divisor);
  const std::int64_t lanes_limit = std::min<std::int64_t>(kTile.lanes, row_limit(args));
  const TileGrid grid(c, 0, c.outputs(), {lanes_limit, kTile.columns});
  const std::int64_t terms = c.terms();

  for_each_tile(grid, args.threads, [&] {
    return [&, packer = TilePacker(grid, operands), block = TermBlock(c), lanes = Eigen::MatrixXf(),
            columns = Eigen::MatrixXf(), sums = Eigen::MatrixXf()](const Tile& tile) mutable {
      packer.move_to(tile);
      sums.setZero(tile.lanes, tile.columns);
      for (std::int64_t first = 0; first < terms; first += kTerms) {
        const std::int64_t n = std::min(kTerms, terms - first);
        block.assign_range(first, n);
        lanes.resize(tile.lanes, n);
        columns.resize(tile.columns, n);
        packer.pack(Side::lanes, block, static_cast<int>(tile.lanes), lanes.data());
        packer.pack(Side::columns, block, static_cast<int>(tile.columns), columns.data());
        sums.noalias() += lanes * columns.transpose();
      }
      for (std::int64_t u = 0; u < tile.columns; ++u)
        for (std::int64_t l = 0; l < tile.lanes; ++l) {
          const auto li = static_cast<std::size_t>(l), ui = static_cast<std::size_t>(u);
          const std::int64_t o = packer.lane_out()[li] + packer.column_out()[ui];
          float y = sums(l, u);
          if (std::isnan(y) && packer.may_miss_taps()) y = sum_existing(c, floats, o);
          if (floats.bias) y += floats.bias[packer.lane_bias()[li] + packer.column_bias()[ui]];
          if (c.divisor != 1) y /= divisor;
          store(args, o, y);
        }
    };
  });
  return {"Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
              std::to_string(EIGEN_MINOR_VERSION),
          {Eigen::SimdInstructionSetsInUse()},
          0,
          shape_text(args, lanes_limit)};
}

const Register variant{{.name = "host_eigen",
                        .summary = "CPU: im2col and Eigen's fp32 matrix product",
                        .source = "kernels/host/eigen.cpp",
                        .where = Where::host,
                        .plan = [](const Problem&, Mode) { return std::string(); },
                        .unsupported = unsupported,
                        .channels_last = unsupported,
                        .launch = launch},
                       all_operators()};

}  // namespace
}  // namespace ulpscope::host
