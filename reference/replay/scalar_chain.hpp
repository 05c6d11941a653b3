#pragma once
// One chain of a program, term by term in exact scalar arithmetic: shared by ScalarReplay, which walks one
// output after another, and by the search, which tries many plans on a few outputs.
#include <cmath>
#include <cstdint>

#include "reference/arithmetic/scalar.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/plan/program.hpp"

namespace ulpscope {

/// The running sum after op's places, from `acc`. `a`, `b`: shortened operands by slot (T float or double);
/// `has`: whether the output has that term.
template <class T>
double scalar_chain(const Plan& plan, const Program& program, const Op& op, const T* a, const T* b,
                    const std::uint8_t* has, double acc) {
  const Arithmetic& ar = plan.arithmetic;
  if (ar.step == Step::block) {
    float x[kMaxBlockTerms], y[kMaxBlockTerms];
    auto sum = static_cast<float>(acc);
    for (std::int64_t at = op.from; at < op.to; at += ar.block.terms) {
      int n = 0;
      for (std::int64_t i = at; i < at + ar.block.terms; ++i) {
        const std::int64_t slot = program.places[static_cast<std::size_t>(i)];
        if (slot < 0 || !has[slot]) continue;
        x[n] = static_cast<float>(a[slot]);
        y[n++] = static_cast<float>(b[slot]);
      }
      if (n > 0) sum = block_step(ar.block, plan.operands.a, plan.operands.b, x, y, n, sum);
    }
    return static_cast<double>(sum);
  }
  float compensation = 0;  // kahan
  for (std::int64_t i = op.from; i < op.to; ++i) {
    const std::int64_t slot = program.places[static_cast<std::size_t>(i)];
    if (!has[slot]) continue;
    const double x = static_cast<double>(a[slot]), y = static_cast<double>(b[slot]);
    switch (ar.step) {
      case Step::fma:
        acc = fma_in(ar.accumulator, x, y, acc);
        break;
      case Step::mul_add:
        acc = add_in(ar.accumulator, acc, mul_in(ar.product, x, y));
        break;
      default: {  // kahan, kahan_fma
        const auto u = static_cast<float>(x), v = static_cast<float>(y), sum = static_cast<float>(acc);
        const float p = ar.step == Step::kahan ? u * v - compensation : std::fma(u, v, -compensation);
        const float t = sum + p;
        compensation = (t - sum) - p;
        acc = static_cast<double>(t);
      }
    }
  }
  return acc;
}

}  // namespace ulpscope
