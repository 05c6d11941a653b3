#pragma once
// Index map of conv2d (and conv1d, as one row) for kernels: an implicit matrix product per image and group,
//   out[m, p] = sum over places k of weight[m, k] * input[k, p],
// rows m: output channels of the group, columns p: output positions, places k: channels and taps in a
// TapOrder.
#include <string>

#include "kernels/support/registry.hpp"
#include "kernels/support/tap_order.hpp"

namespace ulpscope {

struct Conv2dMap {
  TapOrder order;
  std::int64_t images = 1, positions = 1, plane = 1;  // plane: elements of one input channel
  int groups = 1, rows = 1;                           // rows: output channels per group
  int height = 1, width = 1, out_width = 1;
  int stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0, dil_h = 1, dil_w = 1;
  bool pointwise = false;  // 1x1, stride 1, no padding: input position = output position
  bool padded = false;     // some output may lack a tap

  /// What all places of one output have in common: where its image and group begin, and the input position of
  /// tap 0.
  struct Column {
    std::int64_t base;
    int h, w;
  };

  ULPSCOPE_HD Column column(std::int64_t image, int group, std::int64_t position) const {
    const std::int64_t base = (image * groups + group) * order.channels * plane;
    if (pointwise) return {base + position, 0, 0};
    int ow;
    const auto oh = static_cast<int>(divide(position, out_width, ow));
    return {base, oh * stride_h - pad_h, ow * stride_w - pad_w};
  }
  /// Element of x, or -1 for an empty place or a tap on padding.
  ULPSCOPE_HD std::int64_t input(const Column& at, const Tap& t) const {
    if (t.c >= order.channels) return -1;
    if (pointwise) return at.base + t.c * plane;
    const int h = at.h + t.r * dil_h, w = at.w + t.s * dil_w;
    if (h < 0 || h >= height || w < 0 || w >= width) return -1;
    return at.base + t.c * plane + static_cast<std::int64_t>(h) * width + w;
  }
  /// Element of w, or -1 for an empty place or a row beyond the last.
  ULPSCOPE_HD std::int64_t weight(int group, int row, const Tap& t) const {
    if (t.c >= order.channels || row >= rows) return -1;
    const std::int64_t filter = static_cast<std::int64_t>(group) * rows + row;
    return ((filter * order.channels + t.c) * order.kh + t.r) * order.kw + t.s;
  }
  ULPSCOPE_HD std::int64_t output(std::int64_t image, int group, int row, std::int64_t position) const {
    return ((image * groups + group) * rows + row) * positions + position;
  }
};

/// The map of a conv2d or conv1d problem that conv2d_unsupported() accepts; `chunk` as in TapOrder (0: all
/// channels).
Conv2dMap conv2d_map(const Problem& problem, int chunk = 1);

/// "" if 32-bit coordinates suffice for every single axis (element indices are 64-bit), else the reason.
std::string conv2d_unsupported(const Problem& problem);
/// The same for kernels that read and write fp32 only: a Variant's `unsupported`.
std::string conv2d_takes_fp32(const Problem& problem, DType in, DType out, Mode mode);

/// "c kh kw", "c/8 kh kw c" or (chunk 0) "kh kw c"; for conv1d without kh.
std::string conv2d_order(const Problem& problem, int chunk = 1);

}  // namespace ulpscope
