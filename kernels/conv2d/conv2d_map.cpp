#include "kernels/conv2d/conv2d_map.hpp"

#include <algorithm>

namespace ulpscope {
namespace {

// Sums of two coordinates must stay below 2^31.
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 30;

bool one_dimensional(const Problem& problem) {
  return problem.params.op == "conv1d";
}

}  // namespace

std::string conv2d_unsupported(const Problem& problem) {
  const auto& p = problem.params;
  for (std::size_t i = 1; i < problem.a.size(); ++i)
    if (problem.a[i] >= kLargestExtent) return "an input extent of 2^30 or more";
  std::int64_t places = 1;
  for (std::size_t i = 1; i < problem.b.size(); ++i) {
    if (problem.b[i] >= kLargestExtent) return "a weight extent of 2^30 or more";
    places *= problem.b[i];
    if (places >= kLargestExtent) return "2^30 or more terms per output";
  }
  for (std::size_t i = 0; i + 2 < problem.a.size(); ++i) {
    const std::int64_t reach = problem.a[i + 2] + 2 * p.padding[i];
    if (std::max({p.padding[i], p.stride[i], p.dilation[i], reach}) >= kLargestExtent)
      return "padding, stride or dilation of 2^30 or more";
  }
  return "";
}

std::string conv2d_takes_fp32(const Problem& problem, DType in, DType out, Mode) {
  if (in != DType::f32 || out != DType::f32) return "this kernel reads and writes fp32 only";
  return conv2d_unsupported(problem);
}

Conv2dMap conv2d_map(const Problem& problem, int chunk) {
  const auto& p = problem.params;
  const bool flat = one_dimensional(problem);  // conv1d: one row, kernel height 1
  const Shape out = output_shape(problem);
  auto narrow = [](std::int64_t v) { return static_cast<int>(v); };
  const std::size_t w = flat ? 2 : 3;     // position of the width in shapes
  const std::size_t axis = flat ? 0 : 1;  // and in parameters

  Conv2dMap m;
  m.groups = narrow(p.groups);
  m.rows = narrow(problem.b[0] / p.groups);
  m.order.channels = narrow(problem.b[1]);
  m.order.kw = narrow(problem.b[w]);
  m.order.kh = flat ? 1 : narrow(problem.b[2]);
  m.order.chunk = chunk > 0 ? chunk : m.order.channels;
  m.images = problem.a[0];
  m.width = narrow(problem.a[w]);
  m.height = flat ? 1 : narrow(problem.a[2]);
  m.plane = static_cast<std::int64_t>(m.height) * m.width;
  m.out_width = narrow(out[w]);
  m.positions = out[w] * (flat ? 1 : out[2]);
  m.stride_w = narrow(p.stride[axis]);
  m.pad_w = narrow(p.padding[axis]);
  m.dil_w = narrow(p.dilation[axis]);
  if (!flat) {
    m.stride_h = narrow(p.stride[0]);
    m.pad_h = narrow(p.padding[0]);
    m.dil_h = narrow(p.dilation[0]);
  }
  m.padded = m.pad_h > 0 || m.pad_w > 0;
  m.pointwise = m.order.taps() == 1 && m.stride_h == 1 && m.stride_w == 1 && !m.padded;
  return m;
}

std::string conv2d_order(const Problem& problem, int chunk) {
  const std::string taps = one_dimensional(problem) ? "kw" : "kh kw";
  if (chunk == 0) return taps + " c";
  if (chunk == 1) return "c " + taps;
  return "c/" + std::to_string(chunk) + " " + taps + " c";
}

}  // namespace ulpscope
