#include "reference/layout.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

std::int64_t spatial_extent(const Shape& shape) {
  if (shape.size() < 2) throw Error("a tensor of shape " + to_string(shape) + " has no channels to move");
  return elements(Shape(shape.begin() + 2, shape.end()));
}

// A step of `stride` elements along one axis, as it is with channels innermost. A step moves one of the three
// coordinates only, so it may be mapped like a place.
std::int64_t moved(const Shape& shape, std::int64_t stride) {
  return stride == 0 ? 0 : channels_last_place(shape, stride);
}

}  // namespace

std::int64_t channels_last_place(const Shape& shape, std::int64_t i) {
  const std::int64_t spatial = spatial_extent(shape), channels = shape[1];
  if (spatial == 0 || channels == 0) return i;
  const std::int64_t first = i / (channels * spatial), rest = i % (channels * spatial);
  return first * channels * spatial + rest % spatial * channels + rest / spatial;
}

Tensor channels_last(const TensorView& t) {
  Tensor r = make_tensor(t.dtype, t.shape);
  const auto size = static_cast<std::size_t>(size_of(t.dtype));
  const auto* from = static_cast<const char*>(t.data);
  auto* to = r.as<char>();
  for (std::int64_t i = 0, n = t.size(); i < n; ++i)
    std::memcpy(to + static_cast<std::size_t>(channels_last_place(t.shape, i)) * size,
                from + static_cast<std::size_t>(i) * size, size);
  return r;
}

Tensor transposed(const TensorView& t) {
  if (t.shape.size() < 2) throw Error("a tensor of shape " + to_string(t.shape) + " cannot be transposed");
  Shape shape = t.shape;
  std::swap(shape.end()[-1], shape.end()[-2]);
  Tensor r = make_tensor(t.dtype, shape);
  const std::int64_t rows = t.shape.end()[-2], columns = t.shape.end()[-1], size = size_of(t.dtype);
  const auto* from = static_cast<const std::byte*>(t.data);
  for (std::int64_t i = 0, n = t.size(); i < n; ++i) {
    const std::int64_t matrix = i / (rows * columns), row = i / columns % rows, column = i % columns;
    std::memcpy(r.as<std::byte>() + (matrix * rows * columns + column * rows + row) * size, from + i * size,
                static_cast<std::size_t>(size));
  }
  return r;
}

Contraction channels_last(const Problem& problem) {
  if (spatial_rank(problem.params.op) == 0)
    throw Error(problem.params.op + " has no spatial axes: channels cannot be put behind them");
  const Contraction c = lower(problem);
  Contraction r = c;
  for (OutAxis& x : r.out) {
    x.a_stride = moved(problem.a, x.a_stride);
    x.b_stride = moved(problem.b, x.b_stride);
  }
  for (RedAxis& x : r.red) {
    x.a_stride = moved(problem.a, x.a_stride);
    x.b_stride = moved(problem.b, x.b_stride);
    x.coupling.a_stride = moved(problem.a, x.coupling.a_stride);
  }
  // Output axes by the coordinate they move: first, spatial, channels. Axes of extent 1 may count as any.
  const std::int64_t spatial = spatial_extent(c.out_shape), channels = c.out_shape[1];
  std::vector<int> rank(c.out.size());
  std::int64_t stride = 1;
  for (std::size_t x = c.out.size(); x-- > 0; stride *= c.out[x].size)
    rank[x] = stride >= channels * spatial ? 0 : stride >= spatial ? 2 : 1;
  std::vector<int> order(c.out.size());
  std::iota(order.begin(), order.end(), 0);
  auto rank_of = [&](int x) { return rank[static_cast<std::size_t>(x)]; };
  std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return rank_of(x) < rank_of(y); });
  const std::vector<OutAxis> axes = r.out;
  for (std::size_t i = 0; i < order.size(); ++i) r.out[i] = axes[static_cast<std::size_t>(order[i])];
  for (RedAxis& x : r.red)
    if (x.coupling.out_axis >= 0)
      x.coupling.out_axis =
          static_cast<int>(std::find(order.begin(), order.end(), x.coupling.out_axis) - order.begin());
  r.out_shape.erase(r.out_shape.begin() + 1);
  r.out_shape.push_back(channels);
  return r;
}

}  // namespace ulpscope
