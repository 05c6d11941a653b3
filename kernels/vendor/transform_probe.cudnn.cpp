#include "kernels/vendor/transform_probe.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/support/device.hpp"
#include "reference/arithmetic/operand.hpp"
#include "reference/error.hpp"
#include "reference/tensor.hpp"

namespace ulpscope::vendor {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;  // made here, or looked at here

/// The three tensors by what they are to the direction: two operands and what it computes.
struct Roles {
  const Shape *sparse, *dense, *result;
  std::int64_t looked_at;  // elements of the result: of the first image, where there are images
};
Roles roles_of(const ConvGeometry& g) {
  switch (g.direction) {
    case Direction::backward_data:
      return {&g.y, &g.w, &g.x, elements(g.x) / g.x[0]};
    case Direction::backward_filter:
      return {&g.x, &g.y, &g.w, elements(g.w)};
    case Direction::forward:
      break;
  }
  return {&g.x, &g.w, &g.y, elements(g.y) / g.y[0]};
}

/// Random numbers in [1, 2) with as many bits as the type has.
Tensor dense_operand(const Shape& shape, DType type) {
  const int bits = info(type).precision;
  Tensor t = make_tensor(type, shape);
  std::mt19937_64 random(7);
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const double fraction = std::ldexp(static_cast<double>(random() >> (65 - bits)), 1 - bits);
    const std::uint32_t stored = round_to_bits(type, 1 + fraction);
    if (type == DType::f32)
      t.as<std::uint32_t>()[i] = stored;
    else
      t.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(stored);
  }
  return t;
}

/// What a sum's only product may be: an element, or what a tensor core takes for it.
std::vector<float> products_of(const TensorView& dense) {
  std::vector<float> values(static_cast<std::size_t>(dense.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(dense.at(static_cast<std::int64_t>(i)));
  std::vector<float> all = values;
  if (dense.dtype == DType::f32)
    for (const OperandFormat f : {OperandFormat::tf32_rne, OperandFormat::tf32_rna, OperandFormat::tf32_rz,
                                  OperandFormat::bf16, OperandFormat::fp16}) {
      std::vector<float> shorter = values;
      shorten(f, shorter.data(), shorter.size());
      all.insert(all.end(), shorter.begin(), shorter.end());
    }
  return all;
}

/// In the middle of the first image's first channel, where a kernel of any extent reaches.
std::int64_t middle(const Shape& shape, Layout layout) {
  const Shape strides = packed_strides(shape, layout);
  std::int64_t at = 0;
  for (std::size_t axis = 2; axis < shape.size(); ++axis) at += shape[axis] / 2 * strides[axis];
  return at;
}

}  // namespace

bool transforms_operands(const ConvPlan& plan, const ConvGeometry& g, const EngineRequest& request) {
  if (std::all_of(g.w.begin() + 2, g.w.end(), [](std::int64_t taps) { return taps == 1; })) return false;
  const Roles roles = roles_of(g);
  const auto bytes = [](std::int64_t n, DType type) { return static_cast<std::size_t>(n * size_of(type)); };
  if (std::max(bytes(elements(*roles.dense), request.in), bytes(roles.looked_at, request.out)) > kMostBytes)
    return false;
  cuda::DeviceMemory sparse, dense, result, workspace;
  try {
    sparse = cuda::DeviceMemory(bytes(elements(*roles.sparse), request.in));
    dense = cuda::DeviceMemory(bytes(elements(*roles.dense), request.in));
    result = cuda::DeviceMemory(bytes(elements(*roles.result), request.out));
    workspace = cuda::DeviceMemory(static_cast<std::size_t>(plan.workspace_bytes));
  } catch (const Error&) {
    return false;
  }
  const cuda::Stream stream;
  const Tensor values = dense_operand(*roles.dense, request.in);
  const std::uint32_t one = round_to_bits(request.in, 1);  // right-aligned: its first bytes are the element
  for (const cuda::DeviceMemory* m : {&sparse, &result})
    cuda::check(cudaMemsetAsync(m->data(), 0, m->bytes(), stream.get()), "clearing a probe's tensor");
  cuda::copy_to_device(sparse.as<char>() + bytes(middle(*roles.sparse, request.layout), request.in), &one,
                       bytes(1, request.in), stream.get());
  cuda::copy_to_device(dense.data(), values.data.get(), dense.bytes(), stream.get());
  const void* x = roles.sparse == &g.x ? sparse.data() : result.data();
  const void* w = roles.dense == &g.w ? dense.data() : result.data();
  const void* y = g.direction == Direction::forward         ? result.data()
                  : g.direction == Direction::backward_data ? sparse.data()
                                                            : dense.data();
  plan.run(x, w, y, workspace.data(), stream.get());
  const Tensor seen = make_tensor(request.out, {roles.looked_at});
  cuda::copy_to_host(seen.data.get(), result.data(), bytes(roles.looked_at, request.out), stream.get());
  stream.synchronize("a probe of a cuDNN engine");
  return !only_copies(products_of(values.view()), seen.view());
}

}  // namespace ulpscope::vendor
