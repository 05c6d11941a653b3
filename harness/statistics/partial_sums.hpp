#pragma once
// The error that accumulation adds to one output: a plan's program is walked over the true partial sums of
// the data, and every rounding on the way contributes half a unit of its partial sum, uniformly (rounded) or
// with a bias toward zero (truncated).
#include <cstdint>
#include <vector>

#include "harness/statistics/binade.hpp"
#include "harness/statistics/tail.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/plan/program.hpp"

namespace ulpscope {

/// Collects a spread and, if asked, its contributions one by one.
struct NoiseSink {
  SpreadSum sum;
  double offset = 0;
  std::vector<double>* halves = nullptr;
  void uniform(double half_squared) {
    sum.variance += half_squared * (1.0 / 3.0);
    sum.fourth += half_squared * half_squared;
    if (halves) halves->push_back(std::sqrt(half_squared));
  }
};

/// One output's terms by canonical number; absent terms (padding) have present = 0.
struct TermArrays {
  std::vector<double> product;  // shortened a * shortened b
  std::vector<double> grain;    // the product is a multiple of this power of two
  std::vector<double> scale;    // 2^(ea + eb)
  std::vector<std::uint8_t> present;
  void resize(std::size_t n);
};

class PartialSums {
 public:
  /// Both must outlive this.
  PartialSums(const Plan& plan, const Program& program, double divisor);

  /// Adds the accumulation's error to `sink` (as it appears in the result) and returns half a unit of the
  /// rounding to the output format where that is a rounding of its own, else 0.
  double walk(const TermArrays& terms, double bias, bool has_bias, NoiseSink& sink);

 private:
  struct Register {
    double sum = 0, grain = HUGE_VAL;
  };
  void round(Register& r, const Spacing& to, NoiseSink& sink) const;
  void chain(Register& r, std::int64_t from, std::int64_t to, const TermArrays& terms, NoiseSink& sink) const;
  void compensated(Register& r, std::int64_t from, std::int64_t to, const TermArrays& terms,
                   NoiseSink& sink) const;
  void blocks(Register& r, std::int64_t from, std::int64_t to, const TermArrays& terms,
              NoiseSink& sink) const;

  const Plan& plan_;
  const Program& program_;
  double divisor_, scale_;  // scale_: what an error in the sum is multiplied by on the way out
  Spacing accumulator_, product_, out_, block_;
  std::vector<std::int32_t> place_;  // program places as term numbers, passes folded (-1: empty)
  std::vector<Register> registers_;
};

}  // namespace ulpscope
