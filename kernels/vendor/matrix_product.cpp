#include "kernels/vendor/matrix_product.hpp"

#include "kernels/vendor/conv_geometry.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

MatrixProduct of_gemm(const Problem& problem) {
  const OperatorParams& p = problem.params;
  const Shape out = output_shape(problem);
  MatrixProduct g;
  g.transpose_left = p.transpose_a;
  g.transpose_right = p.transpose_b;
  g.m = out.end()[-2];
  g.n = out.end()[-1];
  g.k = p.transpose_a ? problem.a.end()[-2] : problem.a.end()[-1];
  g.batch = elements(out) / (g.m * g.n);
  // An operand without leading axes is shared by the whole batch.
  g.stride_left = problem.a.size() > 2 ? g.m * g.k : 0;
  g.stride_right = problem.b.size() > 2 ? g.k * g.n : 0;
  g.stride_out = g.m * g.n;
  return g;
}

MatrixProduct of_linear(const Problem& problem) {
  MatrixProduct g;
  g.k = problem.b[1];
  g.n = problem.b[0];
  g.m = elements(problem.a) / g.k;
  g.transpose_right = true;  // the weight is stored [N, K]
  return g;
}

bool all_are(const Shape& values, std::int64_t wanted) {
  for (const std::int64_t v : values)
    if (v != wanted) return false;
  return true;
}

std::vector<MatrixProduct> of_pointwise(const Problem& problem) {
  const ConvGeometry c = geometry_of(problem);
  if (c.direction == Direction::backward_filter)
    throw Error("a weight's gradient sums over images: a batched matrix product cannot");
  const Shape kernel(c.w.begin() + 2, c.w.end());
  if (!all_are(kernel, 1) || !all_are(c.stride, 1) || !all_are(c.padding, 0) ||
      Shape(c.x.begin() + 2, c.x.end()) != Shape(c.y.begin() + 2, c.y.end()))
    throw Error("only a convolution of kernel extent 1, stride 1 and no padding is one matrix product");
  const bool forward = c.direction == Direction::forward;
  const Shape &in = forward ? c.x : c.y, &out = forward ? c.y : c.x;
  MatrixProduct g;
  g.left_is_a = false;
  g.transpose_left = !forward;  // a transposed convolution's weight is stored [Cin, Cout/groups]
  g.k = in[1] / c.groups;
  g.m = out[1] / c.groups;
  g.n = elements(in) / (in[0] * in[1]);
  g.batch = in[0];
  g.stride_right = in[1] * g.n;
  g.stride_out = out[1] * g.n;
  std::vector<MatrixProduct> groups;
  for (std::int64_t i = 0; i < c.groups; ++i) {
    groups.push_back(g);
    groups.back().offset_left = i * g.m * g.k;
    groups.back().offset_right = i * g.k * g.n;
    groups.back().offset_out = i * g.m * g.n;
  }
  return groups;
}

}  // namespace

std::vector<MatrixProduct> matrix_products_of(const Problem& problem) {
  if (problem.params.op == "gemm") return {of_gemm(problem)};
  if (problem.params.op == "linear") return {of_linear(problem)};
  if (is_convolution(problem.params.op)) return of_pointwise(problem);
  throw Error(problem.params.op + " is no matrix product");
}

}  // namespace ulpscope::vendor
