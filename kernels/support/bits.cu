#include "kernels/support/bits.hpp"
#include "kernels/support/launch.cuh"

namespace ulpscope::cuda {
namespace {

constexpr int kThreads = 256;

template <class Word>
__global__ void fill_kernel(Word* data, std::int64_t count, Word bits) {
  for (std::int64_t i = global_thread(); i < count; i += grid_threads()) data[i] = bits;
}

// Differences are rare, so each is reported by an atomic of its own; what is common costs one load per array.
template <class Word>
__global__ void compare_kernel(const Word* x, const Word* y, std::int64_t count, Word poison_x, Word poison_y,
                               Comparison* result) {
  unsigned long long differing = 0, unwritten = 0, first_differing = ~0ull, first_unwritten = ~0ull;
  for (std::int64_t i = global_thread(); i < count; i += grid_threads()) {
    const Word a = x[i], b = y[i];
    if (a == b) continue;  // the two poisons differ, so equal bits were written at least once
    const unsigned long long at = static_cast<unsigned long long>(i);
    if (a == poison_x && b == poison_y) {
      ++unwritten;
      if (at < first_unwritten) first_unwritten = at;
    } else {
      ++differing;
      if (at < first_differing) first_differing = at;
    }
  }
  if (differing) {
    atomicAdd(&result->differing, differing);
    atomicMin(&result->first_differing, first_differing);
  }
  if (unwritten) {
    atomicAdd(&result->unwritten, unwritten);
    atomicMin(&result->first_unwritten, first_unwritten);
  }
}

__global__ void changed_kernel(const unsigned char* data, std::int64_t bytes, unsigned char value,
                               unsigned long long* changed) {
  unsigned long long mine = 0;
  for (std::int64_t i = global_thread(); i < bytes; i += grid_threads()) mine += data[i] != value;
  if (mine) atomicAdd(changed, mine);
}

template <class Word>
void fill_words(void* data, std::int64_t count, std::uint32_t bits, cudaStream_t stream) {
  launch("fill_bits", fill_kernel<Word>, dim3(blocks_for(count, kThreads)), dim3(kThreads), 0, stream,
         static_cast<Word*>(data), count, static_cast<Word>(bits));
}

template <class Word>
void compare_words(const void* x, const void* y, std::int64_t count, std::uint32_t poison_x,
                   std::uint32_t poison_y, Comparison* result, cudaStream_t stream) {
  launch("compare_bits", compare_kernel<Word>, dim3(blocks_for(count, kThreads)), dim3(kThreads), 0, stream,
         static_cast<const Word*>(x), static_cast<const Word*>(y), count, static_cast<Word>(poison_x),
         static_cast<Word>(poison_y), result);
}

[[noreturn]] void refuse(DType type) {
  throw Error(std::string("device buffers hold fp32, fp16 or bf16, not ") + name_of(type));
}

}  // namespace

void fill_bits(void* data, DType type, std::int64_t count, std::uint32_t bits, cudaStream_t stream) {
  if (count == 0) return;
  switch (size_of(type)) {
    case 4:
      return fill_words<std::uint32_t>(data, count, bits, stream);
    case 2:
      return fill_words<std::uint16_t>(data, count, bits, stream);
    default:
      refuse(type);
  }
}

void compare_bits(const void* x, const void* y, DType type, std::int64_t count, std::uint32_t poison_x,
                  std::uint32_t poison_y, Comparison* result, cudaStream_t stream) {
  if (count == 0) return;
  switch (size_of(type)) {
    case 4:
      return compare_words<std::uint32_t>(x, y, count, poison_x, poison_y, result, stream);
    case 2:
      return compare_words<std::uint16_t>(x, y, count, poison_x, poison_y, result, stream);
    default:
      refuse(type);
  }
}

void count_changed_bytes(const void* data, std::size_t bytes, unsigned char value,
                         unsigned long long* changed, cudaStream_t stream) {
  if (bytes == 0) return;
  launch("count_changed_bytes", changed_kernel, dim3(blocks_for(static_cast<std::int64_t>(bytes), kThreads)),
         dim3(kThreads), 0, stream, static_cast<const unsigned char*>(data), static_cast<std::int64_t>(bytes),
         value, changed);
}

}  // namespace ulpscope::cuda
