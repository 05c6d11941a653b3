#pragma once
// How a convolution's tensors lie in memory. Everywhere else they are dense with channels before the spatial
// axes (PyTorch's default); libraries take them with channels innermost too, and then may choose other
// kernels.
#include <cstdint>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/operators.hpp"

namespace ulpscope {

enum class Layout : std::uint8_t { channels_first, channels_last };

/// Where element i of a dense tensor [D0, D1, spatial...] lies once it is stored as [D0, spatial..., D1]. The
/// same number where there is nothing to move. Throws Error for a shape of fewer than two axes.
std::int64_t channels_last_place(const Shape& shape, std::int64_t i);

/// A copy of `t`, stored with its second axis innermost. Its shape stays the logical one.
Tensor channels_last(const TensorView& t);

/// A copy of `t` with its last two axes exchanged, in shape and memory. Throws Error for fewer than two axes.
Tensor transposed(const TensorView& t);

/// The convolution of `problem` with both operands and the output stored with channels innermost. Outputs are
/// numbered as they lie in memory; terms keep their canonical order. Throws Error where `problem` is no
/// convolution.
Contraction channels_last(const Problem& problem);

}  // namespace ulpscope
