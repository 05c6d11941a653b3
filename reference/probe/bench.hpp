#pragma once
// A grid of outputs that can be fed independently: what a probe is run on.
#include <cstdint>
#include <span>
#include <vector>

#include "reference/probe/probe.hpp"

namespace ulpscope {

/// One value per canonical term.
using Pattern = std::vector<float>;

class ProbeBench {
 public:
  ProbeBench(const ProbeTarget& target, std::int64_t max_rows, std::int64_t max_columns);

  std::int64_t terms() const { return terms_; }
  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }
  std::int64_t columns() const { return static_cast<std::int64_t>(columns_.size()); }
  bool has_second_operand() const { return !target_.contraction.b_is_ones; }
  std::int64_t launches() const { return launches_; }
  std::int64_t launches_for(std::int64_t a_patterns, std::int64_t b_patterns) const;

  /// Results of every A pattern with every B pattern, [a][b], in as few launches as the grid allows. Without
  /// a second operand there is one B pattern, of ones.
  std::vector<double> run(std::span<const Pattern> a, std::span<const Pattern> b);

  /// One launch on whole operands.
  void run_all(const Operands& operands, std::uint32_t* bits);
  const ProbeTarget& target() const { return target_; }

 private:
  struct Place {
    std::int64_t output;                // its share of the linear output index
    std::vector<std::int64_t> element;  // by term
  };
  void choose(bool a_side, std::int64_t most, std::vector<Place>& places);
  std::vector<Term> complete_terms(std::int64_t output) const;

  ProbeTarget target_;
  std::int64_t terms_ = 0, launches_ = 0;
  std::int64_t base_ = 0;  // an output without missing taps
  std::vector<Place> rows_, columns_;
  Tensor a_, b_, bias_;
  Operands operands_;
  std::vector<std::uint32_t> bits_;
};

}  // namespace ulpscope
