#pragma once
// Work on raw bits that stays on the device: fills, guards, and comparing two outputs in bits.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "reference/formats.hpp"

namespace ulpscope::cuda {

/// Every element of `type` becomes `bits` (right-aligned). 64-bit sizes.
void fill_bits(void* data, DType type, std::int64_t count, std::uint32_t bits, cudaStream_t stream);

/// What two launches left, over all elements; plain data in device memory, copied out by read_comparison.
struct Comparison {
  unsigned long long differing = 0, unwritten = 0;
  unsigned long long first_differing = ~0ull, first_unwritten = ~0ull;  // smallest index; all ones: none
};

/// Compares x and y element by element. An element that still holds poison_x in x and poison_y in y was never
/// written; any other inequality of bits differs. Adds to *result, which must be reset first.
void compare_bits(const void* x, const void* y, DType type, std::int64_t count, std::uint32_t poison_x,
                  std::uint32_t poison_y, Comparison* result, cudaStream_t stream);

/// Adds to *changed the bytes of [data, data + bytes) that are not `value`.
void count_changed_bytes(const void* data, std::size_t bytes, unsigned char value,
                         unsigned long long* changed, cudaStream_t stream);

}  // namespace ulpscope::cuda
