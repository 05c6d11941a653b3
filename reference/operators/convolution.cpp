// conv1d, conv2d, conv3d: out[n, m, o] = sum over c, k of x[n, c, o*stride + k*dilation - padding] * w[m, c,
// k].
#include "reference/operators/convolution.hpp"

namespace ulpscope {

std::int64_t channels_per_group(const Problem& problem, std::int64_t channels, const char* what) {
  const std::int64_t groups = problem.params.groups;
  if (channels % groups != 0)
    refuse(problem, std::to_string(channels) + " " + what + " do not divide into " + std::to_string(groups) +
                        " groups");
  return channels / groups;
}

std::int64_t convolved_extent(const Problem& problem, int s, std::int64_t in, std::int64_t kernel) {
  const auto i = static_cast<std::size_t>(s);
  const OperatorParams& p = problem.params;
  const std::int64_t padded = checked_add(problem, in, 2 * p.padding[i]);
  const std::int64_t window = checked_add(problem, checked_mul(problem, p.dilation[i], kernel - 1), 1);
  if (window > padded)
    refuse(problem, "along spatial axis " + std::to_string(s) + " the dilated kernel (" +
                        std::to_string(window) + ") is longer than the padded input (" +
                        std::to_string(padded) + "): shrink the kernel or pad more");
  return (padded - window) / p.stride[i] + 1;
}

namespace {

Contraction lower_convolution(const Problem& problem) {
  const OperatorParams& p = problem.params;
  const int rank = spatial_rank(p.op);
  const auto dims = static_cast<std::size_t>(rank) + 2;
  require_rank(problem, problem.a, dims, "the input", layout_of_image(rank));
  require_rank(problem, problem.b, dims, "the weight", layout_of_weight(rank));
  const std::int64_t cin = channels_per_group(problem, problem.a[1], "input channels");
  const std::int64_t cout = channels_per_group(problem, problem.b[0], "output channels");
  if (problem.b[1] != cin)
    refuse(problem, "the weight has " + std::to_string(problem.b[1]) +
                        " input channels per group, but the input has " + std::to_string(problem.a[1]) +
                        " channels in " + std::to_string(p.groups) + " groups");
  const Shape x = dense_strides(problem.a), w = dense_strides(problem.b);
  Contraction c;
  c.out = {{"n", problem.a[0], x[0], 0, 0},
           {"g", p.groups, cin * x[1], cout * w[0], cout},
           {"m", cout, 0, w[0], 1}};
  c.red = {{"c", cin, x[1], w[1], {}}};
  c.out_shape = {problem.a[0], problem.b[0]};
  for (int s = 0; s < rank; ++s) {
    const auto i = static_cast<std::size_t>(s);
    const std::int64_t extent = problem.a[i + 2];
    const std::int64_t out = convolved_extent(problem, s, extent, problem.b[i + 2]);
    Coupling along{
        static_cast<int>(c.out.size()), p.stride[i], p.dilation[i], -p.padding[i], 1, extent, x[i + 2]};
    c.out.push_back({kOutNames[axis_name(rank, s)], out, 0, 0, 0});
    c.red.push_back({kTapNames[axis_name(rank, s)], problem.b[i + 2], 0, w[i + 2], along});
    c.out_shape.push_back(out);
  }
  c.bias_size = problem.b[0];
  return c;
}

OperatorDefinition convolution(const char* name, int rank) {
  OperatorDefinition d;
  d.name = name;
  d.spatial_rank = rank;
  d.has_groups = d.has_bias = true;
  d.lower = lower_convolution;
  return d;
}

const RegisterOperator conv1d{convolution("conv1d", 1)};
const RegisterOperator conv2d{convolution("conv2d", 2)};
const RegisterOperator conv3d{convolution("conv3d", 3)};

}  // namespace
}  // namespace ulpscope
