#include "harness/ladder/gather.hpp"

#include <cstring>

#include "reference/terms.hpp"

namespace ulpscope {
namespace {

void copy_element(const TensorView& from, std::int64_t i, Tensor& to, std::int64_t at) {
  const std::int64_t size = size_of(from.dtype);
  std::memcpy(static_cast<char*>(to.data.get()) + at * size, static_cast<const char*>(from.data) + i * size,
              static_cast<std::size_t>(size));
}

Tensor zeros(DType dtype, const Shape& shape) {
  Tensor t = make_tensor(dtype, shape);
  std::memset(t.data.get(), 0, t.view().bytes());
  return t;
}

}  // namespace

GatheredOutputs gather_outputs(const Contraction& c, const Operands& operands,
                               const std::vector<std::int64_t>& outputs) {
  const auto n = static_cast<std::int64_t>(outputs.size());
  const std::int64_t terms = c.terms();
  GatheredOutputs g;
  g.c.divisor = c.divisor;
  g.c.b_is_ones = c.b_is_ones;
  g.c.has_bias = c.has_bias && operands.bias.data;
  g.c.out = {{"o", n, terms, c.b_is_ones ? 0 : terms, g.c.has_bias ? 1 : 0}};
  g.c.out_shape = {n};
  std::int64_t stride = terms;
  for (const RedAxis& axis : c.red) {
    stride /= axis.size;
    g.c.red.push_back({axis.name, axis.size, stride, c.b_is_ones ? 0 : stride, {}});
  }
  g.a = zeros(operands.a.dtype, {n, terms});
  if (!c.b_is_ones) g.b = zeros(operands.b.dtype, {n, terms});
  if (g.c.has_bias) g.bias = zeros(operands.bias.dtype, {n});
  g.c.a_size = n * terms;
  g.c.b_size = c.b_is_ones ? 0 : n * terms;
  g.c.bias_size = g.c.has_bias ? n : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t o = outputs[static_cast<std::size_t>(i)];
    for_each_term(c, o, [&](std::int64_t at_a, std::int64_t at_b, std::int64_t id) {
      copy_element(operands.a, at_a, g.a, i * terms + id);
      if (!c.b_is_ones) copy_element(operands.b, at_b, g.b, i * terms + id);
    });
    if (g.c.has_bias) copy_element(operands.bias, bias_index(c, o), g.bias, i);
  }
  return g;
}

}  // namespace ulpscope
