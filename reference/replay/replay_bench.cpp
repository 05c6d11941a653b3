// Replay against Eigen's fp32 product of the same size, one thread. The targets: TF32 blocks at 3e9 products
// a second, FMA chains at 0.4 of Eigen. `products` is a rate.
#include <benchmark/benchmark.h>

#include <Eigen/Core>
#include <random>
#include <vector>

#include "reference/operators.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kSize = 768;

struct Gemm {
  Contraction c;
  Tensor a = make_tensor(DType::f32, {kSize, kSize}), b = make_tensor(DType::f32, {kSize, kSize});
  Operands operands;
  std::vector<std::uint32_t> out = std::vector<std::uint32_t>(kSize * kSize);

  Gemm() {
    std::mt19937 rng(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::int64_t i = 0; i < kSize * kSize; ++i) {
      a.as<float>()[i] = uniform(rng);
      b.as<float>()[i] = uniform(rng);
    }
    Problem p;
    p.params.op = "gemm";
    p.a = p.b = {kSize, kSize};
    c = lower(p);
    operands = {a.view(), b.view(), {}};
  }
};

void rate(benchmark::State& state) {
  state.counters["products"] = benchmark::Counter(static_cast<double>(kSize * kSize * kSize),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

void replayed(benchmark::State& state, const char* text) {
  static Gemm gemm;
  const auto plan = parse_plan(text);
  for (auto _ : state) {
    replay(*plan, gemm.c, gemm.operands, 0, gemm.c.outputs(), gemm.out.data(), 1);
    benchmark::DoNotOptimize(gemm.out.data());
  }
  rate(state);
}

void eigen(benchmark::State& state) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Matrix a = Matrix::Random(kSize, kSize), b = Matrix::Random(kSize, kSize);
  Matrix c(kSize, kSize);
  for (auto _ : state) {
    c.noalias() = a * b;
    benchmark::DoNotOptimize(c.data());
  }
  rate(state);
}

BENCHMARK(eigen)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replayed, fma, "fp32 | fma")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replayed, fma_split, "fp32 | fma | split 12 align 8")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replayed, mul_add, "fp32 | mul_add")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replayed, pairwise, "fp32 | fma | pairwise")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replayed, kahan, "fp32 | kahan")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replayed, fp64, "fp32 | fma fp64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replayed, tf32_blocks, "tf32_rne | block 8 frac 25 rz")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replayed, bf16_blocks, "bf16 | block 16 frac 25 rz | out bf16")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ulpscope
