// The exact reference against plain MPFR.
#include "reference/exact.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/operators.hpp"
#include "reference/testing/exact_witness.hpp"

namespace ulpscope {
namespace {

using namespace exact_testing;

class ExactOfEveryOperator : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Operators, ExactOfEveryOperator, testing::ValuesIn(operator_names()),
                         [](auto& p) { return p.param; });

TEST_P(ExactOfEveryOperator, AgreesWithMpfrOnAnyData) {
  Random pick{std::mt19937_64(21)};
  int trial = 0;
  for (const Fill fill : kFills)
    for (const DType in : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
      const Problem q = random_problem(GetParam(), pick);
      const Case x(q, in, fill, pick);
      const DType out = ++trial % 7 == 0 ? DType::f64 : kNarrow[trial % 3];
      const Int begin = pick(0, x.c.outputs() - 1),
                count = std::min<Int>(pick(1, x.c.outputs() - begin), 150);
      const std::string what = to_string(q) + " fill " + std::to_string(static_cast<int>(fill)) + " " +
                               name_of(in) + " -> " + name_of(out);
      const Results r = run(x, {out, 1, trial % 2 ? simd_level() : SimdLevel::base}, begin, count);
      ASSERT_NO_FATAL_FAILURE(expect_true_values(x, out, r, begin, count, what));

      std::vector<Int> indices;
      for (Int i = count; i-- > 0;) indices.push_back(begin + i);
      Results scattered(count);
      exact_at(x.c, x.operands(), {out, 2}, indices, scattered.out());
      for (Int i = 0; i < count; ++i) {
        const auto k = static_cast<std::size_t>(i), j = static_cast<std::size_t>(count - 1 - i);
        ASSERT_EQ(scattered.rounded[j], r.rounded[k]) << what;
      }
    }
}

// Bigger tiles, with tails on both sides; one chunk of terms, several, and more than one segment.
TEST(Exact, MatrixProductsOfEveryLength) {
  Random pick{std::mt19937_64(22)};
  struct Size {
    Int m, k, n;
  };
  for (const Size s : {Size{7, 64, 61}, Size{5, 257, 37}, Size{4, 1300, 9}, Size{2, 66000, 5}})
    for (const Fill fill : {Fill::uniform, Fill::normal16, Fill::wide, Fill::cancel, Fill::special})
      for (const DType out : kNarrow) {
        if (s.k > 10000 && (out != DType::f32 || fill == Fill::special || fill == Fill::cancel)) continue;
        Problem q = gemm(s.m, s.k, s.n);
        q.params.bias = pick(0, 1);
        const Case x(q, fill == Fill::normal16 ? DType::bf16 : DType::f32, fill, pick);
        const Results r = run(x, {out, 2}, 0, x.c.outputs());
        ASSERT_NO_FATAL_FAILURE(expect_true_values(
            x, out, r, 0, x.c.outputs(), to_string(q) + " fill " + std::to_string(static_cast<int>(fill))));
      }
}

TEST(Exact, EveryRuleIsNeeded) {
  Random pick{std::mt19937_64(23)};
  auto tally = [&](Fill fill, DType in, DType out) {
    const Case x(gemm(40, 64, 200), in, fill, pick);
    return run(x, {out, 1}, 0, x.c.outputs()).tally;
  };
  EXPECT_GT(tally(Fill::uniform, DType::f32, DType::f32).certified, 7900);
  EXPECT_GT(tally(Fill::integers, DType::f32, DType::f32).exact_sum, 100);
  EXPECT_GT(tally(Fill::special, DType::f32, DType::f32).special, 1000);
  EXPECT_GT(tally(Fill::cancel, DType::f32, DType::f32).compensated, 0);
}

// Only MPFR can tell these: a tie of fp32 and something 2^-200 beside it, with a partner that cancels.
TEST(Exact, TiesBrokenFarAwayGoToMpfr) {
  Problem q;
  q.params.op = "dot";
  q.a = q.b = {7};
  const Contraction c = lower(q);
  Tensor a = make_tensor(DType::f32, q.a), b = make_tensor(DType::f32, q.a);
  for (const float far : {0x1p-100f, -0x1p-100f, 0.0f}) {
    // Three doubles hold 2^120, 2^60 and 1 + 2^-24; nothing is left for what lies beside the tie.
    const float x[7] = {0x1p120f, 0x1p60f, 1, 0x1p-24f, far, -0x1p120f, -0x1p60f},
                y[7] = {1, 1, 1, 1, 0x1p-100f, 1, 1};
    std::copy(x, x + 7, a.as<float>());
    std::copy(y, y + 7, b.as<float>());
    std::uint32_t bits;
    const ExactTally tally = exact(c, {a.view(), b.view(), {}}, {}, 0, 1, {nullptr, nullptr, &bits});
    EXPECT_EQ(std::bit_cast<float>(bits), far > 0 ? 1 + 0x1p-23f : 1.0f);
    EXPECT_EQ(tally.mpfr, 1);
  }
}

// A tie of the output format, and a third term below a double's last bit that breaks it either way, or does
// not.
TEST(Exact, TailsBeyondADoubleBreakTies) {
  Random pick{std::mt19937_64(28)};
  for (const DType out : kNarrow)
    for (const Int columns : {1, 64}) {  // one open output, and a tile full of them
      const int p = info(out).precision;
      const Problem q = gemm(1, 3, columns);
      const Contraction c = lower(q);
      Tensor a = make_tensor(DType::f32, q.a), b = make_tensor(DType::f32, q.b);
      std::fill_n(a.as<float>(), 3, 1.0f);
      for (Int j = 0; j < columns; ++j) {
        const double sign = pick(0, 1) ? 1 : -1,
                     whole = static_cast<double>(pick(Int{1} << (p - 1), (Int{1} << p) - 1));
        b.as<float>()[j] = static_cast<float>(sign * whole);
        b.as<float>()[columns + j] = static_cast<float>(sign * 0.5);
        b.as<float>()[2 * columns + j] = static_cast<float>(pick(-1, 1)) * 0x1p-70f;
      }
      const Operands operands{a.view(), b.view(), {}};
      std::vector<std::uint32_t> bits(static_cast<std::size_t>(columns));
      exact(c, operands, {out, 1}, 0, columns, {nullptr, nullptr, bits.data()});
      for (Int j = 0; j < columns; ++j) {
        const auto k = static_cast<std::size_t>(j);
        ASSERT_EQ(bits[k], by_mpfr(c, operands, j, out).rounded) << name_of(out) << " column " << j;
        std::uint32_t alone;
        exact_at(c, operands, {out, 1}, std::span(&j, 1), {nullptr, nullptr, &alone});
        ASSERT_EQ(alone, bits[k]);
      }
    }
}

TEST(Exact, HalfwayToInfinityRoundsToInfinity) {
  Problem q;
  q.params.op = "sum";
  q.a = {2};
  const Contraction c = lower(q);
  Tensor a = make_tensor(DType::f32, q.a);
  const float largest = std::numeric_limits<float>::max();
  auto rounded = [&](float x, float y) {
    a.as<float>()[0] = x;
    a.as<float>()[1] = y;
    std::uint32_t bits;
    double value;
    exact(c, {a.view(), {}, {}}, {}, 0, 1, {&value, nullptr, &bits});
    EXPECT_EQ(value, static_cast<double>(x) + static_cast<double>(y));
    return std::bit_cast<float>(bits);
  };
  EXPECT_EQ(rounded(largest, 0x1p102f), largest);
  EXPECT_TRUE(std::isinf(rounded(largest, 0x1p103f)));
  EXPECT_EQ(rounded(-largest, std::nextafter(-0x1p103f, 0.0f)), -largest);
  EXPECT_TRUE(std::isinf(rounded(-largest, -0x1p103f)));
}

TEST(Exact, PaddingIsNoTerm) {
  // An infinite weight over padding does not touch the edge, and an output without any term is +0.
  Problem q;
  q.params.op = "conv1d";
  q.params.padding[0] = 3;
  q.a = {1, 1, 4};
  q.b = {1, 1, 2};
  const Contraction c = lower(q);
  Tensor a = make_tensor(DType::f32, q.a), b = make_tensor(DType::f32, q.b);
  const float x[4] = {-0.0f, 1, 2, 3}, w[2] = {std::numeric_limits<float>::infinity(), 1};
  std::copy(x, x + 4, a.as<float>());
  std::copy(w, w + 2, b.as<float>());
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(c.outputs()));
  exact(c, {a.view(), b.view(), {}}, {}, 0, c.outputs(), {nullptr, nullptr, bits.data()});
  ASSERT_EQ(bits.size(), 9u);
  EXPECT_EQ(bits[0], 0u);
  EXPECT_EQ(bits[2], 0x80000000u);  // the only term is -0
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(bits[3])));
  EXPECT_TRUE(std::isinf(std::bit_cast<float>(bits[6])));
  EXPECT_EQ(bits[8], 0u);
}

TEST(Exact, MeanIsDividedBeforeTheOneRounding) {
  Problem q;
  q.params.op = "mean";
  Random pick{std::mt19937_64(24)};
  for (int trial = 0; trial < 300; ++trial) {
    q.a = {pick(1, 50)};
    const Fill fill = kFills[trial % 10];
    const Case x(q, trial % 3 ? DType::f32 : DType::f64, fill, pick);
    const DType out = trial % 5 == 0 ? DType::f64 : kNarrow[trial % 3];
    ASSERT_NO_FATAL_FAILURE(
        expect_true_values(x, out, run(x, {out, 1}, 0, 1), 0, 1,
                           to_string(q) + " fill " + std::to_string(static_cast<int>(fill))));
  }
}

}  // namespace
}  // namespace ulpscope
