// How fast inputs are made and hashed, one thread.
#include <benchmark/benchmark.h>

#include "harness/fill.hpp"
#include "harness/inputs.hpp"
#include "reference/tensor.hpp"

namespace ulpscope {
namespace {

void fill(benchmark::State& state, FillKind kind) {
  constexpr std::int64_t n = 1 << 20;
  Tensor t = make_tensor(DType::f32, {n});
  FillParams p;
  p.kind = kind;
  p.choices = 16;
  for (auto _ : state) {
    fill_range(p, {1, 0}, 0, n, t.data.get());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
}
BENCHMARK_CAPTURE(fill, uniform, FillKind::uniform);
BENCHMARK_CAPTURE(fill, normal, FillKind::normal);
BENCHMARK_CAPTURE(fill, integers, FillKind::integers);
BENCHMARK_CAPTURE(fill, tf32, FillKind::tf32);
BENCHMARK_CAPTURE(fill, special, FillKind::special);

}  // namespace
}  // namespace ulpscope
