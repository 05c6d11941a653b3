#pragma once
// Operators: names, parameters, shapes, and their lowering to contractions. One file per family in
// reference/operators/.
//
// Layouts are PyTorch's: conv weight [Cout, Cin/groups, k...], transposed conv weight [Cin, Cout/groups,
// k...], gemm A [(batch,) M, K], B [(batch,) K, N] (or transposed by flags), linear input [M, K], weight [N,
// K].
//   conv{1,2,3}d(x, w), conv_transpose{1,2,3}d(x, w), conv{1,2,3}d_backward_input(grad_out, w),
//   conv{1,2,3}d_backward_weight(x, grad_out), gemm, linear, dot(a, b), sum(a), mean(a).
// A is the first operand named, B the second.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contraction.hpp"

namespace ulpscope {

struct OperatorParams {
  std::string op;  // "conv2d", ...
  std::array<std::int64_t, 3> stride{1, 1,
                                     1};  // per spatial axis, outermost first; unused ones stay at default
  std::array<std::int64_t, 3> padding{0, 0, 0};
  std::array<std::int64_t, 3> output_padding{0, 0, 0};
  std::array<std::int64_t, 3> dilation{1, 1, 1};
  std::int64_t groups = 1;
  bool transpose_a = false, transpose_b = false;  // gemm: A is [K,M], B is [N,K]
  bool bias = false;
  Shape target;  // backward_input: x's spatial shape; backward_weight: kernel's
  bool operator==(const OperatorParams&) const = default;
};

struct Problem {
  OperatorParams params;
  Shape a, b;  // operand shapes (b empty for sum, mean)
  bool operator==(const Problem&) const = default;
};

/// Names of all operators, sorted.
std::vector<std::string> operator_names();
int spatial_rank(std::string_view op);  // 0 for gemm & co.

/// Lowers; throws Error (one line, naming the offending shape or parameter) if shapes do not fit the
/// operator.
Contraction lower(const Problem& problem);

/// Output shape without lowering everything.
Shape output_shape(const Problem& problem);
Shape bias_shape(const Problem& problem);  // [Cout] or [N]

/// "conv2d 16x64x1024x1024 * 128x64x1x1 s1 p0 d1 g1": printed identity.
std::string to_string(const Problem& problem);

}  // namespace ulpscope
