// Chains of tensor-core steps. Runs under round-toward-zero.
#include "reference/replay/block8.hpp"
#include "reference/replay/kernels.hpp"

namespace ulpscope {
namespace ULPSCOPE_SIMD_LEVEL {
namespace {

// Where the fast step does not hold: every output of the vector again, exactly.
__attribute__((noinline)) F8 exact_steps(const ChainJob& job, const float* lanes, const float* column,
                                         F8 acc) {
  float a[32], b[32], sum[8];
  store(sum, acc);
  for (int i = 0; i < job.terms; ++i) b[i] = column[i * job.columns];
  for (int l = 0; l < 8; ++l) {
    for (int i = 0; i < job.terms; ++i) a[i] = lanes[i * kLanes + l];
    sum[l] = job.exact_step(job.context, a, b, sum[l]);
  }
  return load(sum);
}

template <int terms>
void block_chain(const ChainJob& job) {
  const BlockLimits limits(job.frac, job.floor);
  for (std::int64_t at = 0; at < job.n; at += terms) {
    for (int h = 0; h < 2; ++h) {
      const float* lanes = job.lanes + at * kLanes + h * 8;
      const std::int32_t* lane_exponent = job.lane_exponent + at * kLanes + h * 8;
      for (int u = 0; u < job.columns; ++u) {
        const float* column = job.column + at * job.columns + u;
        const std::int32_t* column_exponent = job.column_exponent + at * job.columns + u;
        F8 product[terms];
        I8 largest = all(2 * kZeroExponent);
        for (int i = 0; i < terms; ++i) {
          product[i] = load(lanes + i * kLanes) * all(column[i * job.columns]);
          largest = max(largest, load(lane_exponent + i * kLanes) + all(column_exponent[i * job.columns]));
        }
        float* place = job.acc + u * kLanes + h * 8;
        const F8 acc = load(place);
        I8 slow;
        F8 next = block_step8<terms>(product, largest, acc, limits, slow);
        if (__builtin_expect(any(slow), 0)) next = exact_steps(job, lanes, column, acc);
        store(place, next);
      }
    }
  }
}

}  // namespace

void chain_block(const ChainJob& job) {
  switch (job.terms) {
    case 4:
      return block_chain<4>(job);
    case 8:
      return block_chain<8>(job);
    case 16:
      return block_chain<16>(job);
    default:
      return block_chain<32>(job);
  }
}

}  // namespace ULPSCOPE_SIMD_LEVEL
}  // namespace ulpscope
