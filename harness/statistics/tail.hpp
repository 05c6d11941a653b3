#pragma once
// Tails of the distributions that rounding errors have.
//
// One output's error is a sum of bounded, nearly independent, nearly uniform contributions (one per rounded
// operand and per rounded partial sum). Near the centre that is a normal distribution; in the tail, where
// "does any of N outputs exceed the tolerance" is decided, the normal law overestimates by factors when few
// contributions dominate. So a spread is described by its standard deviation and by the number of equal
// uniform contributions that has the same fourth cumulant, and tails come from the saddlepoint formula of
// Lugannani and Rice (Adv. Appl. Prob. 12, 1980), which is accurate to a few per cent down to the end of the
// support.
#include <limits>
#include <span>

namespace ulpscope {

/// A zero-mean spread: standard deviation, and the effective number of equal uniform contributions, at least
/// 1 (infinite: normal). A single rounding to nearest has sigma = ulp/sqrt(12), effective = 1.
struct Spread {
  double sigma = 0;
  double effective = std::numeric_limits<double>::infinity();
};

/// Accumulates independent contributions: each is uniform on [-half, half] or normal.
struct SpreadSum {
  double variance = 0;
  double fourth = 0;  // sum of half^4: the fourth cumulant is -2/15 of it
  void add_uniform(double half) {
    const double square = half * half;
    variance += square * (1.0 / 3.0);
    fourth += square * square;
  }
  void add_normal(double var) { variance += var; }
  Spread spread() const;
};

/// P(Z > z) for a standard normal Z.
double normal_tail(double z);

/// P(X > x) for X of the given spread; 0 beyond the support, 1 - ... for negative x.
double upper_tail(const Spread& spread, double x);

/// P(|offset + X + U| > limit), U uniform on [-half, half] (the rounding to the output format) and
/// independent.
double two_sided_tail(const Spread& spread, double offset, double half, double limit);

/// P(|offset + X| > limit) where X is the sum of independent uniforms on [-h, h], h from `halves`, and a
/// normal of variance `normal_variance`: exact weights in place of an effective number.
double weighted_two_sided_tail(std::span<const double> halves, double normal_variance, double offset,
                               double limit);

/// E|offset + X + U|.
double mean_absolute(const Spread& spread, double offset, double half);

}  // namespace ulpscope
