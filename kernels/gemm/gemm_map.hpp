#pragma once
// Index map of gemm and linear for the tile kernels (support/tile_gemm.cuh, support/mma_gemm.cuh), which
// speak of images, groups, rows and positions: a batch is a group, rows are rows of the output, positions its
// columns. Kernels get the operands swapped: "weight", the pointer `w` or LaunchArgs::b, is the left factor
// A; "input", `x` or LaunchArgs::a, the right factor B. Strides are the contraction's, so transposed and
// shared operands cost nothing.
#include <string>

#include "kernels/support/registry.hpp"
#include "kernels/support/tap_order.hpp"

namespace ulpscope {

struct GemmMap {
  TapOrder order;  // channels: the terms k
  std::int64_t images = 1, positions = 1;
  int groups = 1, rows = 1;
  std::int64_t a_batch = 0, a_row = 0, a_k = 0;     // strides of A (`w`), in elements
  std::int64_t b_batch = 0, b_column = 0, b_k = 0;  // strides of B (`x`)
  int first_k = 0;                                  // a slice of the terms: [first_k, first_k + channels)
  bool padded = false;                              // no output lacks a term

  struct Column {
    std::int64_t base;
  };
  ULPSCOPE_HD Column column(std::int64_t, int group, std::int64_t position) const {
    return {group * b_batch + position * b_column};
  }
  /// Indices of `x`, that is of B, and of `w`, that is of A; -1 where there is no term or row.
  ULPSCOPE_HD std::int64_t input(const Column& at, const Tap& t) const {
    return t.c < order.channels ? at.base + (first_k + static_cast<std::int64_t>(t.c)) * b_k : -1;
  }
  ULPSCOPE_HD std::int64_t weight(int group, int row, const Tap& t) const {
    if (t.c >= order.channels || row >= rows) return -1;
    return group * a_batch + row * a_row + (first_k + static_cast<std::int64_t>(t.c)) * a_k;
  }
  ULPSCOPE_HD std::int64_t output(std::int64_t, int group, int row, std::int64_t position) const {
    return (static_cast<std::int64_t>(group) * rows + row) * positions + position;
  }
};

/// The map of a gemm or linear contraction; `chunk` as in TapOrder.
GemmMap gemm_map(const Contraction& c, int chunk = 1);

/// "" if rows, terms and batch fit 31 bits (element indices are 64-bit), else the reason.
std::string gemm_unsupported(const Problem& problem);
/// The same for kernels that read and write fp32 only, and for tensor-core kernels on fp32 or `narrow` data.
std::string gemm_takes_fp32(const Problem& problem, DType in, DType out, Mode mode);
std::string gemm_takes(DType narrow, const Problem& problem, DType in, DType out);

/// How the maps' kernels want a launch: B is "x", A is "w", and the bias is added by a kernel of its own
/// (plan: `bias after`), because a tile kernel's bias goes by rows.
LaunchArgs gemm_args(const LaunchArgs& args);

/// `plan`, with "| bias after" if the problem has a bias.
std::string with_bias_after(const Problem& problem, const std::string& plan);

}  // namespace ulpscope
