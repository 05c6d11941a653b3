#pragma once
// How large the stretch of a tensor can be that a transform looks at as a whole.
#include <cstdint>

#include "reference/tensor.hpp"

namespace ulpscope {

struct WindowNorm {
  double norm = 0;     // largest 2-norm over all windows; infinite if there is an infinity or NaN
  double largest = 0;  // largest magnitude of an element
};

/// A tensor [images, channels, spatial...] whose channels fall into `groups`: over every image, group and
/// window of `window` positions per spatial axis (cut to the axis), the 2-norm of all the window's channels.
/// The result is rounded up. Throws Error if the shapes do not fit.
WindowNorm largest_window_norm(const TensorView& tensor, std::int64_t groups, const Shape& window,
                               int threads = 0);

/// Largest 2-norm over the slices [:, channel, ...] of such a tensor, all images together.
WindowNorm largest_channel_norm(const TensorView& tensor, int threads = 0);

}  // namespace ulpscope
