#include "harness/explain/split_operands.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/explain/mistakes.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

constexpr const char* kSchemes[] = {"tf32_rna passes lo*hi hi*lo hi*hi", "fp16 passes lo*hi hi*lo hi*hi",
                                    "bf16 passes lo*hi hi*lo hi*hi"};
constexpr std::int64_t kFew = 256, kMostTerms = std::int64_t{1} << 25;

}  // namespace

std::optional<std::string> split_that_fits(const Contraction& c, const Operands& operands,
                                           const std::vector<double>& seen, DType out, int threads) {
  const std::int64_t n = c.outputs(), terms = 3 * c.terms();
  if (n * terms > kMostTerms) return {};
  std::vector<double> value(seen.size()), magnitude(seen.size());
  std::vector<std::uint32_t> bits(seen.size());
  ExactOptions options;
  options.threads = threads;
  exact(c, operands, options, 0, n, {value.data(), magnitude.data(), bits.data()});
  // The one that leaves least: a coarser scheme's sums lie within a finer one's limits, too.
  std::optional<std::string> best;
  double least = HUGE_VAL;
  for (const char* scheme : kSchemes) {
    const auto plan = parse_plan(std::string(scheme) + " | fma fp64");
    bool fits = true;
    double squares = 0;
    for (std::int64_t begin = 0; begin < n && fits; begin = begin == 0 ? kFew : n) {
      const std::int64_t end = begin == 0 ? std::min(kFew, n) : n;
      replay(*plan, c, operands, begin, end - begin, bits.data() + begin, threads);
      for (std::int64_t o = begin; o < end && fits; ++o) {
        const auto i = static_cast<std::size_t>(o);
        const double sum = std::bit_cast<float>(bits[i]), s = magnitude[i] / std::abs(c.divisor);
        const double residual = std::abs(seen[i] - sum);
        fits = std::isfinite(seen[i]) && residual <= admissible_error(terms, s, sum, out);
        if (s > 0) squares += residual / s * (residual / s);
      }
    }
    if (fits && squares < least) {
      least = squares;
      best = scheme;
    }
  }
  return best;
}

}  // namespace ulpscope
