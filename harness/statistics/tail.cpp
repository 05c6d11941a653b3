#include "harness/statistics/tail.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ulpscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double density(double z) {
  return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
}

// ln(sinh(x)/x): the cumulant generating function of a uniform on [-1, 1].
double uniform_cgf(double x) {
  x = std::fabs(x);
  if (x < 1e-2) return x * x / 6 - x * x * x * x / 180;
  return x + std::log1p(-std::exp(-2 * x)) - std::log(2 * x);
}
// Its derivatives: Langevin's function coth x - 1/x, and 1/x^2 - 1/sinh^2 x.
double langevin(double x) {
  const double m = std::fabs(x);
  if (m < 1e-2) return x / 3 - x * x * x / 45;
  return std::copysign(1 / std::tanh(m) - 1 / m, x);
}
double langevin_slope(double x) {
  x = std::fabs(x);
  if (x < 1e-2) return 1.0 / 3 - x * x / 15;
  if (x > 20) return 1 / (x * x);
  const double s = std::sinh(x);
  return 1 / (x * x) - 1 / (s * s);
}

// Lugannani-Rice from the saddlepoint s, its exponent s*x - K(s) and K''(s), for x above the mean.
double lugannani_rice(double s, double exponent, double curvature) {
  const double w = std::sqrt(std::max(2 * exponent, 0.0)), u = s * std::sqrt(curvature);
  const double p = normal_tail(w) + density(w) * (1 / u - 1 / w);
  return std::clamp(p, 0.0, 0.5);
}

// Below this the formula cancels; the Edgeworth expansion is better there anyway.
constexpr double kCentre = 0.7;

double edgeworth(double z, double effective) {
  const double kurtosis = -1.2 / effective;
  return normal_tail(z) + density(z) * kurtosis / 24 * (z * z * z - 3 * z);
}

// P(X > z) for z >= 0, sigma = 1.
double standard_tail(double z, double effective) {
  if (effective > 1e4) return normal_tail(z);
  if (effective < 1.0001) return std::max(0.0, 0.5 * (1 - z / std::numbers::sqrt3));
  if (z < kCentre) return std::clamp(edgeworth(z, effective), 0.0, 0.5);
  const double rho = z / std::sqrt(3 * effective);  // share of the support
  if (rho >= 1) return 0;
  // Inverse of Langevin's function: Cohen's approximation, then Newton steps.
  double x = rho * (3 - rho * rho) / (1 - rho * rho);
  for (int i = 0; i < 3; ++i) x -= (langevin(x) - rho) / langevin_slope(x);
  // In units of one contribution's half width c: s*z = n*x*rho, K'' * s^2 = n * x^2 * slope.
  const double exponent = effective * (x * rho - uniform_cgf(x));
  return lugannani_rice(x, exponent, effective * langevin_slope(x));
}

// Integral of normal_tail from z to infinity.
double normal_tail_integral(double z) {
  return density(z) - z * normal_tail(z);
}

}  // namespace

Spread SpreadSum::spread() const {
  Spread s;
  s.sigma = std::sqrt(variance);
  // variance = n c^2/3, fourth = n c^4: n = 9 variance^2 / fourth.
  if (fourth > 0) s.effective = std::max(1.0, 9 * variance * variance / fourth);
  return s;
}

double normal_tail(double z) {
  return 0.5 * std::erfc(z * std::numbers::sqrt2 / 2);
}

double upper_tail(const Spread& spread, double x) {
  if (std::isnan(x)) return 1;
  if (!(spread.sigma > 0)) return x < 0 ? 1 : 0;
  const double z = x / spread.sigma;
  return z >= 0 ? standard_tail(z, spread.effective) : 1 - standard_tail(-z, spread.effective);
}

double two_sided_tail(const Spread& spread, double offset, double half, double limit) {
  if (std::isnan(limit) || std::isnan(offset) || std::isinf(offset) || std::isinf(spread.sigma)) return 1;
  if (limit < 0) return 1;
  if (half > 0) {
    const double sigma = spread.sigma;
    if (half * half > 0.5 * sigma * sigma) {
      // The output rounding is a large part: average the normal tail over it, in closed form.
      auto side = [&](double x) {  // P(X + U > x)
        if (sigma < 1e-9 * half) return std::clamp((half - x) / (2 * half), 0.0, 1.0);
        auto integral = [&](double t) {
          return sigma *
                 (t > 0 ? normal_tail_integral(t / sigma) : normal_tail_integral(-t / sigma) - t / sigma);
        };
        return std::clamp((integral(x - half) - integral(x + half)) / (2 * half), 0.0, 1.0);
      };
      return std::min(1.0, side(limit - offset) + side(limit + offset));
    }
    SpreadSum all;
    all.variance = sigma * sigma;
    all.fourth = std::isfinite(spread.effective) ? 9 * all.variance * all.variance / spread.effective : 0;
    all.add_uniform(half);
    return two_sided_tail(all.spread(), offset, 0, limit);
  }
  return std::min(1.0, upper_tail(spread, limit - offset) + upper_tail(spread, limit + offset));
}

double weighted_two_sided_tail(std::span<const double> halves, double normal_variance, double offset,
                               double limit) {
  double support = normal_variance > 0 ? kInfinity : 0, variance = normal_variance;
  for (const double h : halves) {
    support += h;
    variance += h * h / 3;
  }
  const double sigma = std::sqrt(variance);
  auto side = [&](double x) -> double {
    if (x < 0) return 1;  // an offset beyond the limit: the caller's event is (nearly) sure
    if (x >= support || !(sigma > 0)) return 0;
    if (x < kCentre * sigma) {
      SpreadSum sum;
      for (const double h : halves) sum.add_uniform(h);
      sum.add_normal(normal_variance);
      return upper_tail(sum.spread(), x);
    }
    // Newton on K'(s) = x, kept inside a bracket that grows as needed.
    auto slope = [&](double s, double& curvature) {
      double first = normal_variance * s;
      curvature = normal_variance;
      for (const double h : halves) {
        first += h * langevin(h * s);
        curvature += h * h * langevin_slope(h * s);
      }
      return first;
    };
    double low = 0, high = kInfinity, s = x / variance, curvature = 0;
    for (int i = 0; i < 60; ++i) {
      const double gap = slope(s, curvature) - x;
      if (std::fabs(gap) < 1e-9 * x) break;
      (gap > 0 ? high : low) = s;
      double next = s - gap / curvature;
      if (!(next > low && next < high)) next = std::isinf(high) ? 2 * s : (low + high) / 2;
      s = next;
    }
    slope(s, curvature);
    double exponent = s * x - normal_variance * s * s / 2;
    for (const double h : halves) exponent -= uniform_cgf(h * s);
    return lugannani_rice(s, exponent, curvature);
  };
  return std::min(1.0, side(limit - offset) + side(limit + offset));
}

double mean_absolute(const Spread& spread, double offset, double half) {
  SpreadSum all;
  all.variance = spread.sigma * spread.sigma;
  all.fourth = std::isfinite(spread.effective) ? 9 * all.variance * all.variance / spread.effective : 0;
  if (half > 0) all.add_uniform(half);
  const Spread s = all.spread();
  if (!(s.sigma > 0)) return std::fabs(offset);
  const double z = std::fabs(offset) / s.sigma;
  // Folded normal; the fourth cumulant moves E|X| by -kurtosis/24 at the centre and fades with the offset.
  const double folded = 2 * density(z) + z * (1 - 2 * normal_tail(z));
  return s.sigma * (folded + 2 * density(z) * 1.2 / s.effective / 24 * (1 - z * z));
}

}  // namespace ulpscope
