#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reference/formats.hpp"

namespace ulpscope {

using Shape = std::vector<std::int64_t>;

/// Number of elements of a shape (1 for a scalar); throws Error if it does not fit 63 bits or an extent is
/// negative.
std::int64_t elements(const Shape& shape);
std::string to_string(const Shape& shape);  // "32x64x5"

/// A dense C-contiguous (row-major) array that someone else owns.
struct TensorView {
  const void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;

  std::int64_t size() const { return elements(shape); }
  std::size_t bytes() const {
    return static_cast<std::size_t>(size()) * static_cast<std::size_t>(size_of(dtype));
  }
  double at(std::int64_t i) const;  // value of element i in linear order
  std::uint64_t bits_at(std::int64_t i) const;
};

/// A dense array with its owner (heap, a mapped file, pinned memory).
struct Tensor {
  DType dtype = DType::f32;
  Shape shape;
  std::shared_ptr<void> data;  // 64-byte aligned when made by make_tensor

  TensorView view() const { return {data.get(), dtype, shape}; }
  std::int64_t size() const { return elements(shape); }
  template <class T>
  T* as() {
    return static_cast<T*>(data.get());
  }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data.get());
  }
};

/// Uninitialised, 64-byte aligned; throws Error when memory is short.
Tensor make_tensor(DType dtype, Shape shape);

}  // namespace ulpscope
