#pragma once
// The exact reference's witness in tests: mpfr_sum over exact products, rounded to the format by MPFR itself;
// and data that lead into every corner.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "reference/exact.hpp"
#include "reference/operators.hpp"
#include "reference/operators/random_problem.hpp"

namespace ulpscope::exact_testing {

struct Witness {
  double value, magnitude;  // nearest doubles
  std::uint64_t rounded;
};

inline Witness by_mpfr(const Contraction& c, const Operands& x, Int o, DType out) {
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
inline constexpr Fill kFills[] = {Fill::uniform, Fill::normal16,    Fill::integers, Fill::wide,
                                  Fill::extreme, Fill::subnormal,   Fill::overflow, Fill::cancel,
                                  Fill::special, Fill::signed_zeros};

inline double unit(Random& pick) {
  return static_cast<double>(pick(-(Int{1} << 24), Int{1} << 24)) * 0x1p-24;
}

inline double draw(Fill fill, DType dtype, Random& pick, Int i) {
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

inline Tensor filled(DType dtype, Int n, Fill fill, Random& pick) {
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

inline Results run(const Case& x, const ExactOptions& options, Int begin, Int count) {
  Results r(count);
  r.tally = exact(x.c, x.operands(), options, begin, count, r.out());
  return r;
}

inline void expect_true_values(const Case& x, DType out, const Results& r, Int begin, Int count,
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

inline constexpr DType kNarrow[] = {DType::f32, DType::bf16, DType::f16};

inline Problem gemm(Int m, Int k, Int n) {
  Problem q;
  q.params.op = "gemm";
  q.a = {m, k};
  q.b = {k, n};
  return q;
}

}  // namespace ulpscope::exact_testing
