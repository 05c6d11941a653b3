// Chains of FMAs, of products and sums, compensated and in double.
#include "reference/replay/kernels.hpp"
#include "reference/replay/vector8.hpp"

namespace ulpscope {
namespace ULPSCOPE_SIMD_LEVEL {

void chain_block(const ChainJob& job);  // block.simd.cpp

namespace {

// `columns` x 16 accumulators stay in registers: 12 vectors, 2 for the lanes, 1 for a column.
template <int columns, class Update>
inline void chain(const ChainJob& job, Update update) {
  F8 acc[columns][2];
  for (int u = 0; u < columns; ++u)
    for (int h = 0; h < 2; ++h) acc[u][h] = load(job.acc + u * kLanes + h * 8);
  const float* lanes = job.lanes;
  const float* column = job.column;
  for (std::int64_t i = 0; i < job.n; ++i, lanes += kLanes, column += columns) {
    const F8 x0 = load(lanes), x1 = load(lanes + 8);
    for (int u = 0; u < columns; ++u) {
      const F8 y = all(column[u]);
      acc[u][0] = update(x0, y, acc[u][0]);
      acc[u][1] = update(x1, y, acc[u][1]);
    }
  }
  for (int u = 0; u < columns; ++u)
    for (int h = 0; h < 2; ++h) store(job.acc + u * kLanes + h * 8, acc[u][h]);
}

template <class Update>
void by_width(const ChainJob& job, Update update) {
  if (job.columns == 1)
    chain<1>(job, update);
  else
    chain<kColumns>(job, update);
}

void chain_fma(const ChainJob& job) {
  by_width(job, [](F8 x, F8 y, F8 acc) { return fma(x, y, acc); });
}

void chain_mul_add(const ChainJob& job) {
  by_width(job, [](F8 x, F8 y, F8 acc) { return acc + x * y; });
}

// p = product less the last step's loss; t = acc + p; the new loss is what t has too much.
template <bool fused>
void compensated(const ChainJob& job) {
  for (int u = 0; u < job.columns; ++u)
    for (int h = 0; h < 2; ++h) {
      F8 acc = load(job.acc + u * kLanes + h * 8), loss = load(job.compensation + u * kLanes + h * 8);
      for (std::int64_t i = 0; i < job.n; ++i) {
        const F8 x = load(job.lanes + i * kLanes + h * 8), y = all(job.column[i * job.columns + u]);
        const F8 p = fused ? fma(x, y, all(-0.0f) - loss) : x * y - loss;
        const F8 t = acc + p;
        loss = (t - acc) - p;
        acc = t;
      }
      store(job.acc + u * kLanes + h * 8, acc);
      store(job.compensation + u * kLanes + h * 8, loss);
    }
}

void chain_kahan(const ChainJob& job) {
  compensated<false>(job);
}
void chain_kahan_fma(const ChainJob& job) {
  compensated<true>(job);
}

template <class T, class Update>
void wide(const WideJob& job, const T* lanes, const T* column, Update update) {
  for (std::int64_t i = 0; i < job.n; ++i, lanes += kLanes, column += job.columns)
    for (int u = 0; u < job.columns; ++u) {
      double* acc = job.acc + u * kLanes;
      const T y = column[u];
      for (int l = 0; l < kLanes; ++l) acc[l] = update(lanes[l], y, acc[l]);
    }
}

template <class Update>
void wide_by_type(const WideJob& job, Update update) {
  if (job.lanes64)
    wide(job, job.lanes64, job.column64, update);
  else
    wide(job, job.lanes, job.column, update);
}

void wide_fma(const WideJob& job) {
  wide_by_type(job, [](auto x, auto y, double acc) {
    return __builtin_fma(static_cast<double>(x), static_cast<double>(y), acc);
  });
}

void wide_mul_add(const WideJob& job) {
  wide_by_type(job, [](auto x, auto y, double acc) { return acc + static_cast<double>(x * y); });
}

void wide_products(const WideJob& job) {
  wide_by_type(
      job, [](auto x, auto y, double acc) { return acc + static_cast<double>(x) * static_cast<double>(y); });
}

}  // namespace

const ReplayKernels& replay_kernels() {
  static const ReplayKernels table{chain_fma,   chain_mul_add, chain_kahan,  chain_kahan_fma,
                                   chain_block, wide_fma,      wide_mul_add, wide_products};
  return table;
}

}  // namespace ULPSCOPE_SIMD_LEVEL
}  // namespace ulpscope
