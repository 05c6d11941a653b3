// Measuring against its yardstick: a plain vectorised loop that sums the same three arrays (candidate, exact,
// S). The promise is a ratio in one run, with the same threads: measuring is at least half as fast.
#include <benchmark/benchmark.h>

#include <bit>
#include <vector>

#include "harness/measure.hpp"
#include "reference/parallel.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kOutputs = std::int64_t{1} << 25, kChunk = 1 << 16;

struct Data {
  std::vector<float> candidate = std::vector<float>(kOutputs);
  std::vector<double> value = std::vector<double>(kOutputs), magnitude = std::vector<double>(kOutputs);
  std::vector<std::uint32_t> rounded = std::vector<std::uint32_t>(kOutputs);
  Data() {  // errors like those of an fp32 kernel: a few ULP
    parallel_for(kOutputs / kChunk, 0, [&](std::int64_t chunk) {
      std::uint64_t state = static_cast<std::uint64_t>(chunk) + 1;
      for (std::int64_t i = chunk * kChunk; i < (chunk + 1) * kChunk; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const auto at = static_cast<std::size_t>(i);
        value[at] = (static_cast<double>(state >> 11) - 0x1p52) * 0x1p-52;
        magnitude[at] = 8;
        const float near = static_cast<float>(value[at]);
        rounded[at] = std::bit_cast<std::uint32_t>(near);
        candidate[at] = near * (1 + static_cast<float>(static_cast<std::int64_t>(state >> 60)) * 0x1p-23f);
      }
    });
  }
};
const Data& data() {
  static const Data d;
  return d;
}

// The shape of the seed's second case: rows of 1024 within channels.
Contraction rows() {
  Contraction c;
  c.out = {{"n", kOutputs >> 23, 0, 0, 0}, {"m", 8, 0, 0, 0}, {"oh", 1024, 0, 0, 0}, {"ow", 1024, 0, 0, 0}};
  c.out_shape = {kOutputs >> 23, 8, 1024, 1024};
  c.red = {{"c", 64, 0, 0, {}}};
  return c;
}

void sum_three_arrays(benchmark::State& state) {
  const Data& d = data();
  for (auto _ : state) {
    std::vector<double> sums(static_cast<std::size_t>(kOutputs / kChunk));
    parallel_for(kOutputs / kChunk, static_cast<int>(state.range(0)), [&](std::int64_t chunk) {
      double c[8] = {}, r[8] = {}, s[8] = {};
      for (std::size_t i = static_cast<std::size_t>(chunk * kChunk);
           i < static_cast<std::size_t>((chunk + 1) * kChunk); i += 8)
        for (std::size_t lane = 0; lane < 8; ++lane) {
          c[lane] += static_cast<double>(d.candidate[i + lane]);
          r[lane] += d.value[i + lane];
          s[lane] += d.magnitude[i + lane];
        }
      double total = 0;
      for (int lane = 0; lane < 8; ++lane) total += c[lane] + r[lane] + s[lane];
      sums[static_cast<std::size_t>(chunk)] = total;
    });
    benchmark::DoNotOptimize(sums.data());
  }
  state.SetItemsProcessed(state.iterations() * kOutputs);
}

void measure_outputs(benchmark::State& state) {
  const Data& d = data();
  const Contraction c = rows();
  for (auto _ : state) {
    Measurement m = measure(c, {DType::f32, {64 * 0x1p-24, 0, 3e38, ""}, Tolerance{1e-4, 1e-4}, 8}, 0,
                            kOutputs, d.candidate.data(), d.value.data(), d.magnitude.data(),
                            d.rounded.data(), static_cast<int>(state.range(0)));
    benchmark::DoNotOptimize(m.max_abs);
  }
  state.SetItemsProcessed(state.iterations() * kOutputs);
}

BENCHMARK(sum_three_arrays)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(measure_outputs)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace ulpscope
