#include "kernels/support/launch.cuh"
#include "kernels/vendor/im2col_kernels.hpp"

namespace ulpscope::vendor {
namespace {

template <class Word>
__global__ void columns_kernel(const Im2col map, const Word* __restrict__ x, std::int64_t first_image,
                               std::int64_t group, Word* __restrict__ columns, std::int64_t count) {
  for (std::int64_t i = cuda::global_thread(); i < count; i += cuda::grid_threads()) {
    const std::int64_t from = map.source(i, first_image, group);
    columns[i] = from < 0 ? Word{0} : x[from];
  }
}

template <class Word>
__global__ void filter_kernel(const Im2col map, const Word* __restrict__ w, std::int64_t group,
                              Word* __restrict__ filter, std::int64_t count) {
  for (std::int64_t i = cuda::global_thread(); i < count; i += cuda::grid_threads())
    filter[i] = w[map.filter_source(i, group)];
}

template <class F>
void with_word(DType type, F&& f) {
  if (size_of(type) == 4) return f(std::uint32_t{});
  if (size_of(type) == 2) return f(std::uint16_t{});
  throw Error(std::string("im2col copies 2 or 4 byte elements, not ") + name_of(type));
}

}  // namespace

void gather_columns(const Im2col& map, DType type, const void* x, std::int64_t first_image,
                    std::int64_t images, std::int64_t group, void* columns, cudaStream_t stream) {
  with_word(type, [&](auto word) {
    using Word = decltype(word);
    const std::int64_t count = images * map.column_elements();
    cuda::launch("im2col", columns_kernel<Word>, cuda::blocks_for(count, 256), 256, 0, stream, map,
                 static_cast<const Word*>(x), first_image, group, static_cast<Word*>(columns), count);
  });
}

void permute_filter(const Im2col& map, DType type, const void* w, std::int64_t group, void* filter,
                    cudaStream_t stream) {
  with_word(type, [&](auto word) {
    using Word = decltype(word);
    const std::int64_t count = map.rows * map.depth();
    cuda::launch("im2col filter", filter_kernel<Word>, cuda::blocks_for(count, 256), 256, 0, stream, map,
                 static_cast<const Word*>(w), group, static_cast<Word*>(filter), count);
  });
}

}  // namespace ulpscope::vendor
