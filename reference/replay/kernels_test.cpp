// The inner loops compiled for the baseline and for x86-64-v3 give the same bits.
#include "reference/replay/kernels.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <random>
#include <vector>

#include "reference/arithmetic/block_step.hpp"
#include "reference/simd.hpp"

namespace ulpscope {
namespace {

float random_float(std::mt19937_64& rng, int kind) {
  const auto raw = static_cast<std::uint32_t>(rng());
  if (kind == 0) return static_cast<float>(raw >> 8) * 0x1p-24f - 0.5f;
  if (kind == 1)
    return raw % 7 ? std::ldexp(static_cast<float>(raw >> 8) * 0x1p-24f, static_cast<int>(rng() % 200) - 100)
                   : 0.0f;
  return std::bit_cast<float>(raw);
}

float step_exactly(const void* context, const float* a, const float* b, float acc) {
  const auto& s = *static_cast<const BlockStep*>(context);
  return block_step(s, OperandFormat::tf32_rz, OperandFormat::tf32_rz, a, b, s.terms, acc);
}

std::int32_t exponent(float x) {
  if (x == 0) return kZeroExponent;
  return std::isfinite(x) ? std::max(std::ilogb(x), -126) : kSpecialExponent;
}

bool same(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ||
         (std::isnan(x) && std::isnan(y));
}

class Kernels : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Columns, Kernels, ::testing::Values(1, kColumns));

TEST_P(Kernels, BlockLoopEqualsTheScalarStepAtEveryLevel) {
  if (simd_level() != SimdLevel::v3) GTEST_SKIP() << "no x86-64-v3 here";
  std::mt19937_64 rng(4);
  const int columns = GetParam();
  for (int round = 0; round < 120; ++round) {
    constexpr int kTerms[] = {4, 8, 16, 32};
    BlockStep step{kTerms[round % 4], 23 + round % 3};
    const int n = step.terms * 3;
    const int kind = round / 4 % 3;
    std::vector<float> lanes(static_cast<std::size_t>(n * kLanes)),
        column(static_cast<std::size_t>(n * columns));
    std::vector<float> acc(static_cast<std::size_t>(columns * kLanes));
    for (float& x : lanes) x = shorten(OperandFormat::tf32_rz, random_float(rng, kind));
    for (float& x : column) x = shorten(OperandFormat::tf32_rz, random_float(rng, kind));
    for (float& x : acc) x = round % 5 ? random_float(rng, kind) : round % 2 ? -0.0f : 0.0f;
    std::vector<std::int32_t> lane_exponent, column_exponent;
    for (const float x : lanes) lane_exponent.push_back(exponent(x));
    for (const float x : column) column_exponent.push_back(exponent(x));
    ChainJob job;
    job.n = n;
    job.columns = columns;
    job.lanes = lanes.data();
    job.column = column.data();
    job.lane_exponent = lane_exponent.data();
    job.column_exponent = column_exponent.data();
    job.terms = step.terms;
    job.frac = step.frac;
    job.exact_step = step_exactly;
    job.context = &step;
    std::vector<float> base = acc, v3 = acc;
    std::fesetround(FE_TOWARDZERO);
    job.acc = base.data();
    simd_base::replay_kernels().block(job);
    job.acc = v3.data();
    simd_v3::replay_kernels().block(job);
    std::fesetround(FE_TONEAREST);
    for (int u = 0; u < columns; ++u)
      for (int l = 0; l < kLanes; ++l) {
        float want = acc[static_cast<std::size_t>(u * kLanes + l)];
        for (int at = 0; at < n; at += step.terms) {
          float a[32], b[32];
          for (int i = 0; i < step.terms; ++i) {
            a[i] = lanes[static_cast<std::size_t>((at + i) * kLanes + l)];
            b[i] = column[static_cast<std::size_t>((at + i) * columns + u)];
          }
          want = step_exactly(&step, a, b, want);
        }
        const auto at = static_cast<std::size_t>(u * kLanes + l);
        ASSERT_TRUE(same(v3[at], want)) << round << " " << v3[at] << " " << want;
        ASSERT_TRUE(same(base[at], want)) << round << " " << base[at] << " " << want;
      }
  }
}

TEST_P(Kernels, ChainsAreTheSameAtEveryLevel) {
  if (simd_level() != SimdLevel::v3) GTEST_SKIP() << "no x86-64-v3 here";
  std::mt19937_64 rng(5);
  const int columns = GetParam(), n = 50;
  const ReplayKernels &base = simd_base::replay_kernels(), &v3 = simd_v3::replay_kernels();
  for (int kind = 0; kind < 3; ++kind)
    for (const auto which :
         {&ReplayKernels::fma, &ReplayKernels::mul_add, &ReplayKernels::kahan, &ReplayKernels::kahan_fma}) {
      std::vector<float> lanes(n * kLanes), column(static_cast<std::size_t>(n * columns));
      for (float& x : lanes) x = random_float(rng, kind);
      for (float& x : column) x = random_float(rng, kind);
      std::vector<float> acc[2], loss[2];
      for (int level = 0; level < 2; ++level) {
        acc[level].assign(static_cast<std::size_t>(columns * kLanes), 0.5f);
        loss[level].assign(acc[level].size(), 0.0f);
        ChainJob job;
        job.n = n;
        job.columns = columns;
        job.lanes = lanes.data();
        job.column = column.data();
        job.acc = acc[level].data();
        job.compensation = loss[level].data();
        ((level ? v3 : base).*which)(job);
      }
      for (std::size_t i = 0; i < acc[0].size(); ++i) ASSERT_TRUE(same(acc[0][i], acc[1][i]));
    }
}

}  // namespace
}  // namespace ulpscope
