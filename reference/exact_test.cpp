// The exact reference against plain MPFR: mpfr_sum over exact products, rounded to the format by MPFR itself.
#include "reference/exact.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "reference/error.hpp"
#include "reference/operators.hpp"
#include "reference/operators/random_problem.hpp"

namespace ulpscope {
namespace {

struct Witness {
  double value, magnitude;  // nearest doubles
  std::uint64_t rounded;
};

Witness by_mpfr(const Contraction& c, const Operands& x, Int o, DType out) {
  struct Factors {
    double a, b;
  };
  std::vector<Factors> factors;
  for (const Term& t : terms_of(c, o)) factors.push_back({x.a.at(t.a), c.b_is_ones ? 1.0 : x.b.at(t.b)});
  if (c.has_bias) factors.push_back({x.bias.at(bias_index(c, o)), 1.0});
  std::vector<mpfr_t> products(factors.size());
  std::vector<mpfr_ptr> list;
  bool all_negative_zero = !factors.empty(), special = false;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    mpfr_init2(products[i], 106);
    mpfr_set_d(products[i], factors[i].a, MPFR_RNDN);
    mpfr_mul_d(products[i], products[i], factors[i].b, MPFR_RNDN);
    list.push_back(products[i]);
    all_negative_zero = all_negative_zero && mpfr_zero_p(products[i]) && mpfr_signbit(products[i]);
    special = special || !mpfr_number_p(products[i]);
  }
  const FormatInfo& f = info(out);
  Witness w;
  mpfr_t wide, narrow;
  mpfr_init2(wide, 6000);
  mpfr_init2(narrow, static_cast<mpfr_prec_t>(f.precision));
  mpfr_sum(wide, list.data(), list.size(), MPFR_RNDN);
  mpfr_div_d(wide, wide, c.divisor, MPFR_RNDN);
  w.value = mpfr_get_d(wide, MPFR_RNDN);
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  int inexact = mpfr_set(narrow, wide, MPFR_RNDN);
  mpfr_set_emin(f.emin - f.precision + 2);
  mpfr_set_emax(f.emax + 1);
  inexact = mpfr_check_range(narrow, inexact, MPFR_RNDN);
  mpfr_subnormalize(narrow, inexact, MPFR_RNDN);
  double r = mpfr_get_d(narrow, MPFR_RNDN);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  if (mpfr_zero_p(wide)) r = w.value = all_negative_zero ? -0.0 : 0.0;
  w.rounded = round_to_bits(out, r);
  for (auto& p : products) mpfr_abs(p, p, MPFR_RNDN);
  mpfr_sum(wide, list.data(), list.size(), MPFR_RNDN);
  w.magnitude = special ? std::numeric_limits<double>::infinity() : mpfr_get_d(wide, MPFR_RNDN);
  mpfr_clears(wide, narrow, nullptr);
  for (auto& p : products) mpfr_clear(p);
  return w;
}

// Fills that lead into every corner: what each is for stands beside it.
enum class Fill {
  uniform,       // the common case
  normal16,      // few bits: ties, sums exact in fp64
  integers,      // exact everywhere, many exact zeros
  wide,          // exponents over 2^+-60: certificates fail, sums still fit
  extreme,       // 2^+-120: products near overflow and far below the subnormals
  subnormal,     // results in the subnormal range
  overflow,      // sums near the largest number and halfway to infinity
  cancel,        // pairs that cancel but for the last bits
  special,       // infinities, NaN, zeros of both signs among ordinary numbers
  signed_zeros,  // nothing but zeros
};
constexpr Fill kFills[] = {Fill::uniform, Fill::normal16,    Fill::integers, Fill::wide,
                           Fill::extreme, Fill::subnormal,   Fill::overflow, Fill::cancel,
                           Fill::special, Fill::signed_zeros};

double unit(Random& pick) {
  return static_cast<double>(pick(-(Int{1} << 24), Int{1} << 24)) * 0x1p-24;
}

double draw(Fill fill, DType dtype, Random& pick, Int i) {
  const FormatInfo& f = info(dtype);
  switch (fill) {
    case Fill::uniform:
      return unit(pick);
    case Fill::normal16:
      return static_cast<double>(pick(-31, 31)) * std::exp2(static_cast<double>(pick(-6, 0)));
    case Fill::integers:
      return static_cast<double>(pick(-2, 2));
    case Fill::wide:
      return unit(pick) * std::exp2(static_cast<double>(pick(f.emin / 2, f.emax / 2)));
    case Fill::extreme:
      return unit(pick) * std::exp2(static_cast<double>(pick(f.emin - 10, f.emax)));
    case Fill::subnormal:
      return unit(pick) * std::exp2(static_cast<double>(f.emin / 2) - static_cast<double>(pick(0, 6)));
    case Fill::overflow:
      return std::exp2(static_cast<double>(f.emax) / 2 - 1) * static_cast<double>(pick(-8, 8)) / 8;
    case Fill::cancel:
      return (i & 1 ? -1 : 1) * (1 + static_cast<double>(pick(0, 3)) * std::exp2(1.0 - f.precision)) *
             std::exp2(static_cast<double>(pick(0, 2) * 10));
    case Fill::special: {
      const Int kind = pick(0, 60);
      if (kind == 0) return std::numeric_limits<double>::infinity();
      if (kind == 1) return -std::numeric_limits<double>::infinity();
      if (kind == 2) return std::numeric_limits<double>::quiet_NaN();
      if (kind < 20) return kind & 1 ? 0.0 : -0.0;
      return unit(pick);
    }
    case Fill::signed_zeros:
      return pick(0, 3) ? -0.0 : pick(0, 1) ? 0.0 : 1.0 * 0.0;
  }
  return 0;
}

Tensor filled(DType dtype, Int n, Fill fill, Random& pick) {
  Tensor t = make_tensor(dtype, {n});
  for (Int i = 0; i < n; ++i) {
    const std::uint64_t bits = round_to_bits(dtype, draw(fill, dtype, pick, i));
    std::memcpy(t.as<std::byte>() + i * size_of(dtype), &bits, static_cast<std::size_t>(size_of(dtype)));
  }
  return t;
}

struct Case {
  Contraction c;
  Tensor a, b, bias;
  Case(const Problem& q, DType dtype, Fill fill, Random& pick)
      : c(lower(q)),
        a(filled(dtype, c.a_size, fill, pick)),
        b(filled(dtype, std::max<Int>(c.b_size, 1), fill, pick)),
        bias(filled(dtype, std::max<Int>(c.bias_size, 1), fill, pick)) {}
  Operands operands() const { return {a.view(), b.view(), bias.view()}; }
};

struct Results {
  std::vector<double> value, magnitude;
  std::vector<std::uint32_t> rounded;
  ExactTally tally;
  explicit Results(Int n)
      : value(static_cast<std::size_t>(n), 7), magnitude(value), rounded(static_cast<std::size_t>(n), 7) {}
  ExactOut out() { return {value.data(), magnitude.data(), rounded.data()}; }
};

Results run(const Case& x, const ExactOptions& options, Int begin, Int count) {
  Results r(count);
  r.tally = exact(x.c, x.operands(), options, begin, count, r.out());
  return r;
}

void expect_true_values(const Case& x, DType out, const Results& r, Int begin, Int count,
                        const std::string& what) {
  Int tallied = r.tally.certified + r.tally.exact_sum + r.tally.compensated + r.tally.mpfr + r.tally.special;
  ASSERT_EQ(tallied, count);
  for (Int i = 0; i < count; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const Witness w = by_mpfr(x.c, x.operands(), begin + i, out);
    if (out != DType::f64) {
      ASSERT_EQ(r.rounded[k], w.rounded) << what << " output " << begin + i << " value " << w.value;
    }
    if (!std::isfinite(w.value)) {
      ASSERT_EQ(std::isnan(r.value[k]), std::isnan(w.value)) << what;
      if (!std::isnan(w.value)) {
        ASSERT_EQ(r.value[k], w.value) << what;
      }
    } else {
      ASSERT_EQ(std::signbit(r.value[k]), std::signbit(w.value)) << what;
      if (out == DType::f64) {
        ASSERT_EQ(r.value[k], w.value) << what;
      } else {
        const FormatInfo& f = info(out);
        const double room =
            std::max(0x1p-34 * std::fabs(w.value), std::ldexp(1.0, f.emin - f.precision + 1 - 10)) *
            (1 + 0x1p-18);
        ASSERT_LE(std::fabs(r.value[k] - w.value), room) << what << " output " << begin + i;
        if (w.value == 0) {
          ASSERT_EQ(r.value[k], 0) << what;
        }
      }
    }
    ASSERT_GE(r.magnitude[k], w.magnitude) << what;
    if (std::isfinite(w.magnitude)) {
      ASSERT_LE(r.magnitude[k], w.magnitude * (1 + 0x1p-40) + 0x1p-900) << what;
    }
  }
}

const DType kNarrow[] = {DType::f32, DType::bf16, DType::f16};

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

Problem gemm(Int m, Int k, Int n) {
  Problem q;
  q.params.op = "gemm";
  q.a = {m, k};
  q.b = {k, n};
  return q;
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

TEST(Exact, ThreadsSlabsAndLevelsChangeNoBit) {
  Random pick{std::mt19937_64(25)};
  struct Shape3 {
    Problem q;
    DType dtype;
  };
  Problem conv;
  conv.params.op = "conv2d";
  conv.params.padding = {1, 1, 0};
  conv.params.bias = true;
  conv.a = {2, 20, 15, 17};
  conv.b = {40, 20, 3, 3};
  for (const auto& [q, dtype] :
       {Shape3{gemm(90, 64, 130), DType::f32}, Shape3{gemm(3, 140000, 2), DType::f32},
        Shape3{conv, DType::bf16}, Shape3{conv, DType::f32}})
    for (const Fill fill : {Fill::uniform, Fill::integers, Fill::special, Fill::cancel}) {
      if (q.a.back() > 10000 && fill != Fill::uniform) continue;
      const Case x(q, dtype, fill, pick);
      const Int n = x.c.outputs();
      for (const DType out : {DType::f32, DType::f16}) {
        const Results whole = run(x, {out, 1}, 0, n);
        auto same = [&](const Results& r, const char* what) {
          EXPECT_EQ(std::memcmp(r.value.data(), whole.value.data(), r.value.size() * 8), 0)
              << what << to_string(q);
          EXPECT_EQ(r.magnitude, whole.magnitude) << what << to_string(q);
          EXPECT_EQ(r.rounded, whole.rounded) << what << to_string(q);
        };
        const Results threaded = run(x, {out, 3}, 0, n);
        same(threaded, "threads ");
        EXPECT_EQ(threaded.tally.certified, whole.tally.certified);
        EXPECT_EQ(threaded.tally.exact_sum, whole.tally.exact_sum);
        same(run(x, {out, 1, SimdLevel::base}, 0, n), "baseline ");
        Results slabs(n);
        for (Int first = 0; first < n; first += 997) {
          const Int count = std::min<Int>(997, n - first);
          exact(x.c, x.operands(), {out, 2}, first, count,
                {slabs.value.data() + first, slabs.magnitude.data() + first, slabs.rounded.data() + first});
        }
        same(slabs, "slabs ");
        Results rows(n);
        std::mutex guard;
        exact_rows(x.c, x.operands(), {out, 2}, 0, n, [&](const ExactRow& row) {
          std::lock_guard lock(guard);
          std::copy_n(row.value, row.count, rows.value.begin() + row.index);
          std::copy_n(row.magnitude, row.count, rows.magnitude.begin() + row.index);
          std::copy_n(row.rounded, row.count, rows.rounded.begin() + row.index);
        });
        same(rows, "rows ");
      }
    }
}

TEST(Exact, WindowsOfHugeProblemsNeedNoMoreThanTheirOperands) {
  // 2^31 outputs; only a window of them is computed.
  Problem q;
  q.params.op = "linear";
  q.a = {std::int64_t{1} << 16, 4};
  q.b = {std::int64_t{1} << 15, 4};
  Random pick{std::mt19937_64(26)};
  const Case x(q, DType::f32, Fill::uniform, pick);
  ASSERT_EQ(x.c.outputs(), std::int64_t{1} << 31);
  const Int begin = x.c.outputs() - 100;
  expect_true_values(x, DType::f32, run(x, {}, begin, 100), begin, 100, "the last outputs");
}

TEST(Exact, BadRangesAndShortOperandsAreRefused) {
  Random pick{std::mt19937_64(27)};
  const Case x(gemm(3, 4, 5), DType::f32, Fill::uniform, pick);
  EXPECT_THROW(exact(x.c, x.operands(), {}, 0, 16, {}), Error);
  EXPECT_THROW(exact(x.c, x.operands(), {}, -1, 2, {}), Error);
  EXPECT_THROW(exact(x.c, {x.a.view(), {}, {}}, {}, 0, 1, {}), Error);
  const Int outside[] = {3, 15};
  EXPECT_THROW(exact_at(x.c, x.operands(), {}, outside, {}), Error);
  EXPECT_EQ(exact(x.c, x.operands(), {}, 15, 0, {}).certified, 0);
}

}  // namespace
}  // namespace ulpscope
