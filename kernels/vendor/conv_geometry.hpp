#pragma once
// A convolution operator in the vendor's words: which of forward, backward-data and backward-filter it is,
// and the three tensors x [N, C, ..], w [K, C/groups, ..], y [N, K, ..] of the forward convolution behind it.
#include <cstdint>
#include <string>
#include <vector>

#include "reference/layout.hpp"
#include "reference/operators.hpp"

namespace ulpscope::vendor {

enum class Direction : std::uint8_t { forward, backward_data, backward_filter };
const char* to_string(Direction direction);

struct ConvGeometry {
  Direction direction = Direction::forward;
  Shape x, w, y;  // 4-D or 5-D; one spatial axis is written as two, the first of extent 1
  Shape stride, padding, dilation;
  std::int64_t groups = 1;

  std::int64_t images() const { return x[0]; }
  /// The same convolution on a run of images (forward and backward-data only).
  ConvGeometry with_images(std::int64_t n) const;
};

/// True for the operators that are convolutions.
bool is_convolution(const std::string& op);

/// Throws Error where `problem` is no convolution or does not fit its operator.
ConvGeometry geometry_of(const Problem& problem);

/// Strides of a dense tensor, in elements: row-major, or with the second axis innermost.
Shape packed_strides(const Shape& shape, Layout layout = Layout::channels_first);

/// Libraries index with 32 bits: how many images may go into one call so that no tensor passes 2^31-1
/// elements. Calls are equal in size but for the last. All images where the direction sums over images, and
/// where nothing is too large. 0: one image alone is too large.
std::int64_t images_per_call(const ConvGeometry& geometry);

}  // namespace ulpscope::vendor
