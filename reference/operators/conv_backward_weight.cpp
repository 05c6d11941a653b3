// conv{1,2,3}d_backward_weight(x, grad): the gradient of a convolution's weight,
//   out[m, c, k] = sum over n, o of x[n, c, o*stride + k*dilation - padding] * grad[n, m, o].
// The roles of taps and positions are exchanged: taps are outputs, and the sum runs over images and
// positions.
#include "reference/operators/convolution.hpp"

namespace ulpscope {
namespace {

Contraction lower_backward_weight(const Problem& problem) {
  const OperatorParams& p = problem.params;
  const int rank = spatial_rank(p.op);
  const auto dims = static_cast<std::size_t>(rank) + 2;
  require_rank(problem, problem.a, dims, "the input", layout_of_image(rank));
  require_rank(problem, problem.b, dims, "the output's gradient", layout_of_image(rank));
  if (problem.a[0] != problem.b[0])
    refuse(problem, "the input has " + std::to_string(problem.a[0]) + " images, the output's gradient " +
                        std::to_string(problem.b[0]) + ": they must agree");
  const std::int64_t cin = channels_per_group(problem, problem.a[1], "input channels");
  const std::int64_t cout = channels_per_group(problem, problem.b[1], "channels of the output's gradient");
  const Shape x = dense_strides(problem.a), g = dense_strides(problem.b);
  Contraction c;
  c.out = {{"g", p.groups, cin * x[1], cout * g[1], 0}, {"m", cout, 0, g[1], 0}, {"c", cin, x[1], 0, 0}};
  c.red = {{"n", problem.a[0], x[0], g[0], {}}};
  c.out_shape = {problem.b[1], cin};
  for (int s = 0; s < rank; ++s) {
    const auto i = static_cast<std::size_t>(s);
    const std::int64_t taps = p.target[i], extent = problem.a[i + 2];
    const std::int64_t forward = convolved_extent(problem, s, extent, taps);
    if (forward != problem.b[i + 2])
      refuse(problem, "a kernel of extent " + std::to_string(taps) + " along spatial axis " +
                          std::to_string(s) + " gives outputs of extent " + std::to_string(forward) +
                          ", but the gradient has " + std::to_string(problem.b[i + 2]));
    Coupling along{
        static_cast<int>(c.out.size()), p.dilation[i], p.stride[i], -p.padding[i], 1, extent, x[i + 2]};
    c.out.push_back({kTapNames[axis_name(rank, s)], taps, 0, 0, 0});
    c.red.push_back({kOutNames[axis_name(rank, s)], problem.b[i + 2], 0, g[i + 2], along});
    c.out_shape.push_back(taps);
  }
  return c;
}

OperatorDefinition backward_weight(const char* name, int rank) {
  OperatorDefinition d;
  d.name = name;
  d.spatial_rank = rank;
  d.has_groups = d.has_target = true;
  d.lower = lower_backward_weight;
  return d;
}

const RegisterOperator b1{backward_weight("conv1d_backward_weight", 1)};
const RegisterOperator b2{backward_weight("conv2d_backward_weight", 2)};
const RegisterOperator b3{backward_weight("conv3d_backward_weight", 3)};

}  // namespace
}  // namespace ulpscope
