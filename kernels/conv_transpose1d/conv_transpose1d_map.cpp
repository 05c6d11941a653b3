#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"

#include <algorithm>

namespace ulpscope {
namespace {
constexpr std::int64_t kLargestExtent = std::int64_t{1}
                                        << 30;  // sums of two coordinates must stay below 2^31
}

std::string conv_transpose1d_unsupported(const Problem& problem) {
  const auto& p = problem.params;
  const Shape out = output_shape(problem);
  for (std::size_t i = 1; i < 3; ++i)
    if (std::max({problem.a[i], problem.b[i], out[i]}) >= kLargestExtent) return "an extent of 2^30 or more";
  if (problem.b[0] / p.groups * problem.b[2] >= kLargestExtent) return "2^30 or more terms per output";
  if (std::max({p.padding[0], p.stride[0], p.dilation[0], (problem.b[2] - 1) * p.dilation[0]}) >=
      kLargestExtent)
    return "padding, stride or dilation of 2^30 or more";
  return "";
}

std::string conv_transpose1d_takes_fp32(const Problem& problem, DType in, DType out, Mode) {
  if (in != DType::f32 || out != DType::f32) return "this kernel reads and writes fp32 only";
  return conv_transpose1d_unsupported(problem);
}

ConvTranspose1dMap conv_transpose1d_map(const Problem& problem, int chunk) {
  const auto& p = problem.params;
  auto narrow = [](std::int64_t v) { return static_cast<int>(v); };
  ConvTranspose1dMap m;
  m.groups = narrow(p.groups);
  m.rows = narrow(problem.b[1]);
  m.order.channels = narrow(problem.b[0] / p.groups);
  m.order.kw = narrow(problem.b[2]);
  m.order.chunk = chunk > 0 ? chunk : m.order.channels;
  m.images = problem.a[0];
  m.positions = output_shape(problem)[2];
  m.length = narrow(problem.a[2]);
  m.stride = narrow(p.stride[0]);
  m.padding = narrow(p.padding[0]);
  m.dilation = narrow(p.dilation[0]);
  return m;
}

std::string conv_transpose1d_order(int chunk) {
  if (chunk == 0) return "kw c";
  if (chunk == 1) return "c kw";
  return "c/" + std::to_string(chunk) + " kw c";
}

}  // namespace ulpscope
