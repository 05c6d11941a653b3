#include "kernels/vendor/conv_geometry.hpp"

#include <algorithm>

#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

bool has(const std::string& op, const char* part) {
  return op.find(part) != std::string::npos;
}

// One spatial axis becomes two, the outer of extent 1: what frameworks do, so users meet the same kernels.
Shape at_least_two_axes(Shape shape, std::size_t first_spatial, std::int64_t filler) {
  if (shape.size() == first_spatial + 1)
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(first_spatial), filler);
  return shape;
}

Shape per_axis(const std::array<std::int64_t, 3>& values, int rank, std::int64_t filler) {
  return at_least_two_axes(Shape(values.begin(), values.begin() + rank), 0, filler);
}

}  // namespace

const char* to_string(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return "forward";
    case Direction::backward_data:
      return "backward_data";
    case Direction::backward_filter:
      return "backward_filter";
  }
  return "?";
}

ConvGeometry ConvGeometry::with_images(std::int64_t n) const {
  ConvGeometry g = *this;
  g.x[0] = g.y[0] = n;
  return g;
}

bool is_convolution(const std::string& op) {
  return op.rfind("conv", 0) == 0;
}

ConvGeometry geometry_of(const Problem& problem) {
  const OperatorParams& p = problem.params;
  if (!is_convolution(p.op))
    throw Error(p.op + " is no convolution: use the gemm entry of the vendor library");
  const int rank = spatial_rank(p.op);
  const Shape out = output_shape(problem);
  ConvGeometry g;
  if (has(p.op, "backward_weight")) {
    g.direction = Direction::backward_filter;
    g.x = problem.a, g.y = problem.b, g.w = out;
  } else if (has(p.op, "transpose") || has(p.op, "backward_input")) {
    // A transposed convolution is the gradient of a convolution's input.
    g.direction = Direction::backward_data;
    g.y = problem.a, g.w = problem.b, g.x = out;
  } else {
    g.x = problem.a, g.w = problem.b, g.y = out;
  }
  for (Shape* shape : {&g.x, &g.w, &g.y}) *shape = at_least_two_axes(std::move(*shape), 2, 1);
  g.stride = per_axis(p.stride, rank, 1);
  g.padding = per_axis(p.padding, rank, 0);
  g.dilation = per_axis(p.dilation, rank, 1);
  g.groups = p.groups;
  return g;
}

Shape packed_strides(const Shape& shape, Layout layout) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  if (layout == Layout::channels_last && shape.size() > 2) {
    for (std::size_t i = 2; i < shape.size(); ++i) strides[i] *= shape[1];
    strides[1] = 1;
  }
  return strides;
}

std::int64_t images_per_call(const ConvGeometry& geometry) {
  constexpr std::int64_t kLimit = 0x7fffffff;
  const std::int64_t n = geometry.images();
  const std::int64_t per_image = std::max(elements(geometry.x), elements(geometry.y)) / n;
  if (per_image > kLimit) return 0;
  if (geometry.direction == Direction::backward_filter || per_image * n <= kLimit) return n;
  const std::int64_t calls = (n + kLimit / per_image - 1) / (kLimit / per_image);
  return (n + calls - 1) / calls;
}

}  // namespace ulpscope::vendor
