// conv_transpose1d/2d/3d: every input element scatters into a window of the output; read as a gather,
//   out[n, m, o] = sum over c, k of x[n, c, (o + padding - k*dilation) / stride] * w[c, m, k]
// where the division leaves no remainder and the position exists.
// conv{1,2,3}d_backward_input is the same map: the gradient of a convolution's input, whose extent is not a
// function of the other shapes (the forward division rounded down), so it is given as the target.
#include "reference/operators/convolution.hpp"

namespace ulpscope {

Contraction lower_transposed(const Problem& problem, const Shape& extents) {
  const OperatorParams& p = problem.params;
  const int rank = spatial_rank(p.op);
  const std::int64_t cin = channels_per_group(problem, problem.a[1], "channels of the first operand");
  const std::int64_t cout = problem.b[1];  // per group
  if (problem.b[0] != problem.a[1])
    refuse(problem, "the weight's first extent is " + std::to_string(problem.b[0]) +
                        ", but the first operand has " + std::to_string(problem.a[1]) +
                        " channels: they must agree");
  const Shape x = dense_strides(problem.a), w = dense_strides(problem.b);
  Contraction c;
  c.out = {{"n", problem.a[0], x[0], 0, 0},
           {"g", p.groups, cin * x[1], cin * w[0], cout},
           {"m", cout, 0, w[1], 1}};
  c.red = {{"c", cin, x[1], w[0], {}}};
  c.bias_size = checked_mul(problem, cout, p.groups);
  c.out_shape = {problem.a[0], c.bias_size};
  for (int s = 0; s < rank; ++s) {
    const auto i = static_cast<std::size_t>(s);
    Coupling along{static_cast<int>(c.out.size()),
                   1,
                   -p.dilation[i],
                   p.padding[i],
                   p.stride[i],
                   problem.a[i + 2],
                   x[i + 2]};
    c.out.push_back({kOutNames[axis_name(rank, s)], extents[i], 0, 0, 0});
    c.red.push_back({kTapNames[axis_name(rank, s)], problem.b[i + 2], 0, w[i + 2], along});
    c.out_shape.push_back(extents[i]);
  }
  return c;
}

namespace {

Contraction lower_conv_transpose(const Problem& problem) {
  const OperatorParams& p = problem.params;
  const int rank = spatial_rank(p.op);
  const auto dims = static_cast<std::size_t>(rank) + 2;
  require_rank(problem, problem.a, dims, "the input", layout_of_image(rank));
  require_rank(problem, problem.b, dims, "the weight", layout_of_transposed_weight(rank));
  Shape extents;
  for (int s = 0; s < rank; ++s) {
    const auto i = static_cast<std::size_t>(s);
    if (p.output_padding[i] >= p.stride[i] && p.output_padding[i] >= p.dilation[i])
      refuse(problem, "output padding " + std::to_string(p.output_padding[i]) +
                          " must be smaller than the stride or the dilation");
    const std::int64_t window =
        checked_add(problem, checked_mul(problem, p.dilation[i], problem.b[i + 2] - 1), 1);
    std::int64_t out = checked_mul(problem, problem.a[i + 2] - 1, p.stride[i]);
    out = checked_add(problem, out, window + p.output_padding[i] - 2 * p.padding[i]);
    if (out < 1)
      refuse(problem, "along spatial axis " + std::to_string(s) + " the padding leaves an output of extent " +
                          std::to_string(out) + ": pad less");
    extents.push_back(out);
  }
  return lower_transposed(problem, extents);
}

Contraction lower_backward_input(const Problem& problem) {
  const int rank = spatial_rank(problem.params.op);
  const auto dims = static_cast<std::size_t>(rank) + 2;
  require_rank(problem, problem.a, dims, "the output's gradient", layout_of_image(rank));
  require_rank(problem, problem.b, dims, "the weight", layout_of_weight(rank));
  for (int s = 0; s < rank; ++s) {
    const auto i = static_cast<std::size_t>(s);
    const std::int64_t forward = convolved_extent(problem, s, problem.params.target[i], problem.b[i + 2]);
    if (forward != problem.a[i + 2])
      refuse(problem, "an input of extent " + std::to_string(problem.params.target[i]) +
                          " along spatial axis " + std::to_string(s) + " gives outputs of extent " +
                          std::to_string(forward) + ", but the gradient has " +
                          std::to_string(problem.a[i + 2]));
  }
  return lower_transposed(problem, problem.params.target);
}

OperatorDefinition transposed(const char* name, int rank) {
  OperatorDefinition d;
  d.name = name;
  d.spatial_rank = rank;
  d.has_groups = d.has_bias = d.has_output_padding = true;
  d.lower = lower_conv_transpose;
  return d;
}

OperatorDefinition backward_input(const char* name, int rank) {
  OperatorDefinition d;
  d.name = name;
  d.spatial_rank = rank;
  d.has_groups = d.has_target = true;
  d.lower = lower_backward_input;
  return d;
}

const RegisterOperator t1{transposed("conv_transpose1d", 1)};
const RegisterOperator t2{transposed("conv_transpose2d", 2)};
const RegisterOperator t3{transposed("conv_transpose3d", 3)};
const RegisterOperator b1{backward_input("conv1d_backward_input", 1)};
const RegisterOperator b2{backward_input("conv2d_backward_input", 2)};
const RegisterOperator b3{backward_input("conv3d_backward_input", 3)};

}  // namespace
}  // namespace ulpscope
