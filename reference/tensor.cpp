#include "reference/tensor.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "reference/error.hpp"

namespace ulpscope {

std::int64_t elements(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      throw Error("shape " + to_string(shape) + " has a negative extent: give sizes of at least 0");
    if (__builtin_mul_overflow(n, extent, &n))
      throw Error("shape " + to_string(shape) +
                  " has more elements than 63 bits can count: choose a smaller one");
  }
  return n;
}

std::string to_string(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "scalar" : text;
}

std::uint64_t TensorView::bits_at(std::int64_t i) const {
  const auto bytes_each = static_cast<std::size_t>(size_of(dtype));
  std::uint64_t bits = 0;  // little-endian: the low bytes come first
  std::memcpy(&bits, static_cast<const std::byte*>(data) + static_cast<std::size_t>(i) * bytes_each,
              bytes_each);
  return bits;
}

double TensorView::at(std::int64_t i) const {
  if (dtype == DType::f32) return static_cast<const float*>(data)[i];
  return value_of_bits(dtype, bits_at(i));
}

Tensor make_tensor(DType dtype, Shape shape) {
  constexpr std::size_t kAlign = 64;
  const auto n = static_cast<std::size_t>(elements(shape));
  const auto each = static_cast<std::size_t>(size_of(dtype));
  if (n > (std::numeric_limits<std::size_t>::max() >> 2) / each)
    throw Error("a tensor of shape " + to_string(shape) +
                " does not fit the address space: choose a smaller one");
  const std::size_t bytes = (n * each / kAlign + 1) * kAlign;  // at least one line, so data is never null
  void* memory = std::aligned_alloc(kAlign, bytes);
  if (!memory)
    throw Error("out of host memory for a tensor of shape " + to_string(shape) + " (" +
                std::to_string(bytes) + " bytes): choose a smaller case");
  return {dtype, std::move(shape), std::shared_ptr<void>(memory, std::free)};
}

}  // namespace ulpscope
