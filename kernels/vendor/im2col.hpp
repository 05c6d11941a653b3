#pragma once
// Lays out a transposed convolution's operands as the factors of one matrix product per image and group.
#include <cstdint>
#include <string>

#include "kernels/support/host_device.hpp"
#include "reference/formats.hpp"
#include "reference/operators.hpp"

namespace ulpscope::vendor {

/// out[m, o] = sum over (c, k) of filter[m, (c, k)] * column[(c, k), o].
struct Im2col {
  std::int64_t images = 1, groups = 1, channels = 1, rows = 1;  // per group: input and output channels
  std::int64_t taps = 1, length = 1, positions = 1;             // kernel, input and output extents
  std::int64_t stride = 1, padding = 0, dilation = 1;

  ULPSCOPE_HD std::int64_t depth() const { return channels * taps; }
  /// Elements of the column matrix of one image and group.
  ULPSCOPE_HD std::int64_t column_elements() const { return depth() * positions; }

  /// Element of x for element i of the column matrices of `group` from `first_image` on; -1: a zero.
  ULPSCOPE_HD std::int64_t source(std::int64_t i, std::int64_t first_image, std::int64_t group) const {
    const std::int64_t o = i % positions, row = i / positions;
    const std::int64_t k = row % taps, c = row / taps % channels, n = row / depth();
    const std::int64_t at = o + padding - k * dilation, position = at / stride;
    if (at < 0 || position * stride != at || position >= length) return -1;
    return (((first_image + n) * groups + group) * channels + c) * length + position;
  }
  /// Element of w for element i of the filter matrix of `group`.
  ULPSCOPE_HD std::int64_t filter_source(std::int64_t i, std::int64_t group) const {
    const std::int64_t k = i % taps, c = i / taps % channels, m = i / depth();
    return ((group * channels + c) * rows + m) * taps + k;
  }
};

Im2col im2col_of(const Problem& conv_transpose1d);

}  // namespace ulpscope::vendor
