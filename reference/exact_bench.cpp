// The exact reference against its yardsticks, as ratios within one process (absolute times depend on the
// machine). Everything runs on one thread; each ratio compares minima over repetitions that take turns, so
// that a busy machine slows both sides alike.
#include <benchmark/benchmark.h>
#include <mpfr.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <random>

#include "reference/exact.hpp"
#include "reference/operators.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kRows = 128, kTerms = 64, kColumns = 65536;

enum class Data {
  uniform,
  sixteen_bit,  // rounded to the 16-bit format
  integers,     // -1, 0, 1: many exact zeros
  ties,         // integers up to 30: 16-bit outputs are often halfway between two
  zeros,        // three of four operands are zero
};

struct Setup {
  Contraction c;
  Tensor a, b;
  std::vector<double> value, magnitude;
  std::vector<std::uint32_t> rounded;
  DType out = DType::f32;

  explicit Setup(Data data, DType dtype = DType::f32) {
    Problem q;
    q.params.op = "gemm";
    q.a = {kRows, kTerms};
    q.b = {kTerms, kColumns};
    c = lower(q);
    std::mt19937_64 rng(1);
    auto fill = [&](std::int64_t n) {
      Tensor t = make_tensor(dtype, {n});
      for (std::int64_t i = 0; i < n; ++i) {
        double x = static_cast<double>(rng() >> 40) * 0x1p-24;
        if (data == Data::integers) x = std::floor(x * 3) - 1;
        if (data == Data::ties) x = std::floor(x * 61) - 30;
        if (data == Data::sixteen_bit) x = x * 2 - 1;
        if (data == Data::zeros && rng() % 4) x = 0;
        const std::uint64_t bits = round_to_bits(dtype, x);
        if (dtype == DType::f32)
          t.as<std::uint32_t>()[i] = static_cast<std::uint32_t>(bits);
        else
          t.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(bits);
      }
      return t;
    };
    a = fill(c.a_size);
    b = fill(c.b_size);
    out = dtype;
    const auto n = static_cast<std::size_t>(c.outputs());
    value.resize(n);
    magnitude.resize(n);
    rounded.resize(n);
  }

  ExactTally run() {
    return exact(c, {a.view(), b.view(), {}}, {out, 1}, 0, c.outputs(),
                 {value.data(), magnitude.data(), rounded.data()});
  }
};

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Two fp64 products of the size, the operands converted already: one for the sum, one for S.
struct TwoProducts {
  RowMajor a, b, abs_a, abs_b, sum, magnitude;
  explicit TwoProducts(const Setup& s) : a(kRows, kTerms), b(kTerms, kColumns) {
    for (std::int64_t i = 0; i < s.c.a_size; ++i) a.data()[i] = s.a.view().at(i);
    for (std::int64_t i = 0; i < s.c.b_size; ++i) b.data()[i] = s.b.view().at(i);
    abs_a = a.cwiseAbs();
    abs_b = b.cwiseAbs();
    sum.resize(kRows, kColumns);
    magnitude.resize(kRows, kColumns);
  }
  void run() {
    sum.noalias() = a * b;
    magnitude.noalias() = abs_a * abs_b;
    benchmark::DoNotOptimize(sum.data());
    benchmark::DoNotOptimize(magnitude.data());
  }
};

// mpfr_sum over the exact products of `outputs` outputs, rounded to fp32's precision.
void sum_by_mpfr(const Setup& s, std::int64_t outputs) {
  std::vector<mpfr_t> products(kTerms);
  std::vector<mpfr_ptr> list;
  mpfr_t sum;
  mpfr_init2(sum, 24);
  for (auto& p : products) {
    mpfr_init2(p, 48);
    list.push_back(p);
  }
  const float* a = s.a.as<float>();
  const float* b = s.b.as<float>();
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t t = 0; t < kTerms; ++t) {
      mpfr_set_flt(products[static_cast<std::size_t>(t)], a[t], MPFR_RNDN);
      mpfr_mul_d(products[static_cast<std::size_t>(t)], products[static_cast<std::size_t>(t)],
                 static_cast<double>(b[t * kColumns + o]), MPFR_RNDN);
    }
    mpfr_sum(sum, list.data(), list.size(), MPFR_RNDN);
    benchmark::DoNotOptimize(mpfr_get_flt(sum, MPFR_RNDN));
  }
  mpfr_clear(sum);
  for (auto& p : products) mpfr_clear(p);
}

// Time this thread spent computing: other processes do not count.
double seconds(const std::function<void()>& work) {
  auto now = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  const double start = now();
  work();
  return now() - start;
}

// Minima of both over `rounds` turns.
std::pair<double, double> fastest(int rounds, const std::function<void()>& x,
                                  const std::function<void()>& y) {
  double tx = std::numeric_limits<double>::infinity(), ty = tx;
  for (int r = 0; r < rounds; ++r) {
    tx = std::min(tx, seconds(x));
    ty = std::min(ty, seconds(y));
  }
  return {tx, ty};
}

// ratio: exact sum, S and rounded bits / two Eigen products of that size. Promised: at most 1.5.
void ExactAgainstTwoProducts(benchmark::State& state) {
  Setup s(Data::uniform);
  TwoProducts eigen(s);
  for (auto _ : state) {
    const auto [ours, theirs] = fastest(
        15, [&] { s.run(); }, [&] { eigen.run(); });
    state.counters["exact_ms"] = ours * 1e3;
    state.counters["two_products_ms"] = theirs * 1e3;
    state.counters["ratio"] = ours / theirs;
  }
}
BENCHMARK(ExactAgainstTwoProducts)->Iterations(1)->Unit(benchmark::kMillisecond);

// speedup: mpfr_sum over every output's exact products / exact, per output. Promised: at least 150.
void ExactAgainstMpfr(benchmark::State& state) {
  Setup s(Data::uniform);
  constexpr std::int64_t kSample = 20000;
  for (auto _ : state) {
    const auto [ours, theirs] = fastest(
        7, [&] { s.run(); }, [&] { sum_by_mpfr(s, kSample); });
    const double outputs = static_cast<double>(s.c.outputs());
    state.counters["mpfr_ns_per_output"] = theirs / kSample * 1e9;
    state.counters["exact_ns_per_output"] = ours / outputs * 1e9;
    state.counters["speedup"] = theirs / kSample / (ours / outputs);
  }
}
BENCHMARK(ExactAgainstMpfr)->Iterations(1)->Unit(benchmark::kMillisecond);

// ratio: data full of ties and zeros / ordinary fp32 data. Promised: at most 2.
void ExactOnUndecidedData(benchmark::State& state) {
  Setup plain(Data::uniform);
  const auto data = static_cast<Data>(state.range(0));
  Setup hard(data, static_cast<DType>(state.range(1)));
  ExactTally tally;
  for (auto _ : state) {
    const auto [ours, theirs] = fastest(
        9, [&] { tally = hard.run(); }, [&] { plain.run(); });
    state.counters["ratio"] = ours / theirs;
    const double n = static_cast<double>(hard.c.outputs());
    state.counters["exact_rule"] = static_cast<double>(tally.exact_sum) / n;
    state.counters["compensated"] = static_cast<double>(tally.compensated) / n;
    state.counters["mpfr"] = static_cast<double>(tally.mpfr) / n;
  }
}
BENCHMARK(ExactOnUndecidedData)
    ->ArgNames({"data", "dtype"})
    ->Args({static_cast<int>(Data::sixteen_bit), static_cast<int>(DType::bf16)})
    ->Args({static_cast<int>(Data::sixteen_bit), static_cast<int>(DType::f16)})
    ->Args({static_cast<int>(Data::integers), static_cast<int>(DType::f32)})
    ->Args({static_cast<int>(Data::integers), static_cast<int>(DType::bf16)})
    ->Args({static_cast<int>(Data::ties), static_cast<int>(DType::bf16)})
    ->Args({static_cast<int>(Data::zeros), static_cast<int>(DType::f32)})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ulpscope
