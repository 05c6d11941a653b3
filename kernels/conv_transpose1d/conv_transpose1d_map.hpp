#pragma once
// Index map of conv_transpose1d for kernels: an implicit matrix product per image and group,
//   out[m, o] = sum over places (c, k) of weight[c, m, k] * input[c, i],   i = (o + padding - k*dilation) /
//   stride,
// a term existing only where the division is exact and i lies in the input.
#include <string>

#include "kernels/support/registry.hpp"
#include "kernels/support/tap_order.hpp"

namespace ulpscope {

struct ConvTranspose1dMap {
  TapOrder order;  // kh = 1
  std::int64_t images = 1, positions = 1;
  int groups = 1, rows = 1;  // rows: output channels per group
  int length = 1;            // of the input
  int stride = 1, padding = 0, dilation = 1;
  bool padded = true;  // outputs near the edges always lack taps if there is more than one

  struct Column {
    std::int64_t base;  // where the image's and group's channels begin
    int reach;          // o + padding
  };

  ULPSCOPE_HD Column column(std::int64_t image, int group, std::int64_t position) const {
    return {(image * groups + group) * order.channels * length, static_cast<int>(position) + padding};
  }
  /// Input coordinate of tap s, or -1 if the term does not exist.
  ULPSCOPE_HD int coordinate(const Column& at, int s) const {
    int q = at.reach - s * dilation;
    if (q < 0) return -1;
    if (stride > 1) {
      const int i = q / stride;
      if (i * stride != q) return -1;
      q = i;
    }
    return q < length ? q : -1;
  }
  /// Element of x, or -1 for an empty place or a missing tap.
  ULPSCOPE_HD std::int64_t input(const Column& at, const Tap& t) const {
    if (t.c >= order.channels) return -1;
    const int i = coordinate(at, t.s);
    return i < 0 ? -1 : at.base + static_cast<std::int64_t>(t.c) * length + i;
  }
  /// Element of w [Cin, Cout/groups, K], or -1 for an empty place or a row beyond the last.
  ULPSCOPE_HD std::int64_t weight(int group, int row, const Tap& t) const {
    if (t.c >= order.channels || row >= rows) return -1;
    const std::int64_t channel = static_cast<std::int64_t>(group) * order.channels + t.c;
    return (channel * rows + row) * order.kw + t.s;
  }
  ULPSCOPE_HD std::int64_t output(std::int64_t image, int group, int row, std::int64_t position) const {
    return ((image * groups + group) * rows + row) * positions + position;
  }
};

/// The map of a problem that conv_transpose1d_unsupported() accepts; `chunk` as in TapOrder (0: all
/// channels).
ConvTranspose1dMap conv_transpose1d_map(const Problem& problem, int chunk = 1);

/// "" if 32-bit coordinates suffice for every single axis (element indices are 64-bit), else the reason.
std::string conv_transpose1d_unsupported(const Problem& problem);
/// The same for kernels that read and write fp32 only: a Variant's `unsupported`.
std::string conv_transpose1d_takes_fp32(const Problem& problem, DType in, DType out, Mode mode);

/// "c kw", "c/8 kw c" or (chunk 0) "kw c".
std::string conv_transpose1d_order(int chunk = 1);

}  // namespace ulpscope
