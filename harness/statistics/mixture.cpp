#include "harness/statistics/mixture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>

namespace ulpscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Where one output's exact weights are worth their cost: few effective contributions, not too many in all.
constexpr std::size_t kRefined = 192;
constexpr double kRefineBelow = 48;

double standardised(const OutputError& e, double limit) {
  const double sigma = std::sqrt(e.spread.sigma * e.spread.sigma + e.half * e.half / 3);
  if (!std::isfinite(e.offset)) return -kInfinity;
  if (!(sigma > 0)) return std::fabs(e.offset) > limit ? -kInfinity : kInfinity;
  return (limit - std::fabs(e.offset)) / sigma;
}

// Outputs with nearly the same distribution, counted together: the maximum over 2^31 outputs takes a few
// hundred tail evaluations per point instead of one per output.
struct Bin {
  OutputError error;
  double weight = 0;
};

std::vector<Bin> bins_of(const ErrorMixture& m) {
  // Keys: 1 % steps of the total spread, 2 % of sigma of the offset, coarse steps of the shape.
  using Key = std::tuple<int, int, int, int>;
  std::map<Key, Bin> bins;
  auto log_step = [](double x, double steps) {
    return x > 0 && std::isfinite(x) ? static_cast<int>(std::lround(std::log2(x) * steps))
                                     : (x > 0 ? 1 << 20 : -(1 << 20));
  };
  for (const OutputError& e : m.outputs) {
    const double sigma = std::sqrt(e.spread.sigma * e.spread.sigma + e.half * e.half / 3);
    const int offset = sigma > 0 && std::isfinite(e.offset) && std::fabs(e.offset) < 1e4 * sigma
                           ? static_cast<int>(std::lround(std::fabs(e.offset) / sigma * 20))
                           : log_step(std::fabs(e.offset), 64) + (1 << 22);
    Bin& bin = bins[{log_step(sigma, 64), offset, log_step(e.half, 64),
                     static_cast<int>(std::lround(std::min(8 * std::log2(e.spread.effective), 120.0)))}];
    if (bin.weight == 0 || sigma > bin.error.spread.sigma) {
      bin.error = e;
      bin.error.offset = std::fabs(e.offset);
    }
    bin.weight += m.weight();
  }
  std::vector<Bin> list;
  for (auto& [key, bin] : bins) list.push_back(bin);
  return list;
}

// ln P(no output exceeds `limit`).
double log_all_within(const std::vector<Bin>& bins, double limit) {
  double sum = 0;
  for (const Bin& bin : bins) {
    if (standardised(bin.error, limit) > 12) continue;
    sum += bin.weight * std::log1p(-std::min(bin.error.exceeds(limit), 1 - 1e-300));
    if (sum < -745) return -kInfinity;
  }
  return sum;
}

double max_quantile(const std::vector<Bin>& bins, double p) {
  const double target = std::log(p);
  double high = 0;
  for (const Bin& b : bins)
    high =
        std::max(high, std::fabs(b.error.offset) + 14 * b.error.spread.sigma + b.error.half + b.error.grid);
  if (!std::isfinite(high)) return high;
  double low = 0;
  for (int i = 0; i < 60 && high - low > 1e-5 * high; ++i) {
    const double middle = (low + high) / 2;
    (log_all_within(bins, middle) < target ? low : high) = middle;
  }
  return high;
}

double two_digit_value(int ordinal) {  // 90 steps a decade, 0 is 1.0e0
  int decade = ordinal / 90, digit = ordinal % 90;
  if (digit < 0) {
    digit += 90;
    --decade;
  }
  // Through text, so that the value is the double nearest to the decimal that is printed.
  const int units = digit + 10;
  const std::string text =
      std::to_string(units / 10) + "." + std::to_string(units % 10) + "e" + std::to_string(decade);
  return std::strtod(text.c_str(), nullptr);
}

int two_digit_ordinal(double x) {  // of the smallest two-digit decimal >= x > 0
  const double decade = std::floor(std::log10(x));
  int ordinal =
      static_cast<int>(decade) * 90 + static_cast<int>(std::ceil(x / std::pow(10, decade) * 10)) - 10;
  while (two_digit_value(ordinal) < x) ++ordinal;
  while (two_digit_value(ordinal - 1) >= x) --ordinal;
  return ordinal;
}

}  // namespace

double OutputError::exceeds(double limit) const {
  if (grid > 0) {
    // Both results are rounded to one grid: their difference is the least multiple of it beyond the limit.
    const double steps = std::floor(limit / grid * (1 + 1e-12)) + 1;
    return two_sided_tail(spread, offset, grid / 2, (steps - 0.5) * grid);
  }
  return two_sided_tail(spread, offset, half, limit);
}

double expected_mean_abs(const ErrorMixture& m) {
  double sum = 0;
  for (const OutputError& e : m.outputs) sum += mean_absolute(e.spread, e.offset, std::max(e.half, 0.0));
  return m.outputs.empty() ? 0 : sum / static_cast<double>(m.outputs.size());
}

double expected_mean_signed(const ErrorMixture& m) {
  double sum = 0;
  for (const OutputError& e : m.outputs) sum += e.offset;
  return m.outputs.empty() ? 0 : sum / static_cast<double>(m.outputs.size());
}

double quantile_of_max(const ErrorMixture& m, double p) {
  return max_quantile(bins_of(m), p);
}

double expected_max_abs(const ErrorMixture& m) {
  const std::vector<Bin> bins = bins_of(m);
  if (bins.empty()) return 0;
  // E max = low + integral from low of P(max > t), where P(max > low) is practically 1.
  const double low = max_quantile(bins, 1e-7), high = max_quantile(bins, 1 - 1e-7);
  if (!(high > low) || !std::isfinite(high)) return high;
  constexpr int kPanels = 64;  // Simpson
  const double h = (high - low) / kPanels;
  double sum = 0;
  for (int i = 0; i <= kPanels; ++i) {
    const double beyond = -std::expm1(log_all_within(bins, low + h * i));
    sum += beyond * (i == 0 || i == kPanels ? 1 : i % 2 ? 4 : 2);
  }
  return low + sum * h / 3;
}

double violating_share(const ErrorMixture& m, double atol, double rtol) {
  double sum = 0;
  for (const OutputError& e : m.outputs) {
    const double limit = atol + rtol * std::fabs(e.value);
    if (standardised(e, limit) < 12) sum += e.exceeds(limit);
  }
  return m.outputs.empty() ? 0 : sum / static_cast<double>(m.outputs.size());
}

double fail_probability(const ErrorMixture& m, double atol, double rtol) {
  const double weight = m.weight();
  double within = 0;  // ln P(none exceeds)
  struct Candidate {
    double p;
    std::size_t i;
  };
  std::vector<Candidate> coarse;  // whose exact weights may change the answer
  for (std::size_t i = 0; i < m.outputs.size(); ++i) {
    const OutputError& e = m.outputs[i];
    const double limit = atol + rtol * std::fabs(e.value), z = standardised(e, limit);
    if (z > 12) continue;
    // Beyond the support that the effective number implies the exact weights may still reach.
    const bool refine =
        m.contributions && e.half == 0 && e.grid == 0 && z > 1.5 && e.spread.effective < kRefineBelow;
    const double p = std::min(e.exceeds(limit), 1 - 1e-300);
    if (refine)
      coarse.push_back({std::max(p, 1e-3 * 2 * normal_tail(z)), i});
    else
      within += weight * std::log1p(-p);
    if (within < -40) return 1;
  }
  const std::size_t exact = std::min(coarse.size(), kRefined);
  std::partial_sort(
      coarse.begin(), coarse.begin() + static_cast<std::ptrdiff_t>(exact), coarse.end(),
      [](const Candidate& a, const Candidate& b) { return a.p > b.p || (a.p == b.p && a.i < b.i); });
  double before = 0, after = 0;  // of the refined ones: their ratio corrects the rest
  for (std::size_t k = 0; k < exact && within > -40; ++k) {
    const OutputError& e = m.outputs[coarse[k].i];
    const Contributions parts = m.contributions(coarse[k].i);
    const double limit = atol + rtol * std::fabs(e.value);
    const double p =
        std::min(weighted_two_sided_tail(parts.halves, parts.normal_variance, e.offset, limit), 1 - 1e-300);
    before += coarse[k].p;
    after += p;
    within += weight * std::log1p(-p);
  }
  const double ratio = before > 0 ? std::min(after / before, 4.0) : 1;
  for (std::size_t k = exact; k < coarse.size(); ++k)
    within += weight * std::log1p(-std::min(coarse[k].p * ratio, 1 - 1e-15));
  return 0.0 - std::expm1(within);
}

double two_digits_up(double x) {
  return x > 0 && std::isfinite(x) ? two_digit_value(two_digit_ordinal(x)) : x;
}

double smallest_atol(const ErrorMixture& m, double rtol, double p) {
  if (fail_probability(m, 0, rtol) < p) return 0;
  // The maximum's quantile brackets it from above (rtol only helps) up to the refinement of the weights.
  double top = quantile_of_max(m, 1 - p);
  if (!std::isfinite(top)) return kInfinity;
  int high = two_digit_ordinal(std::max(top, 1e-300));
  while (fail_probability(m, two_digit_value(high), rtol) >= p) high += 9;
  int low = high - 9;
  for (int step = 9; fail_probability(m, two_digit_value(low), rtol) < p; step *= 2) {
    high = low;
    low -= step;
    if (two_digit_value(low) < 1e-300) return two_digit_value(high);
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (fail_probability(m, two_digit_value(middle), rtol) < p ? high : low) = middle;
  }
  return two_digit_value(high);
}

}  // namespace ulpscope
