#pragma once
// One output, settled for good: special values, then a compensated sum, then MPFR.
#include <cstdint>

#include "reference/contraction.hpp"
#include "reference/exact.hpp"
#include "reference/exact/mpfr_sum.hpp"

namespace ulpscope {

enum class Rule : std::uint8_t { compensated, mpfr, special };

inline void add_rule(ExactTally& tally, Rule rule) {
  ++(rule == Rule::compensated ? tally.compensated : rule == Rule::mpfr ? tally.mpfr : tally.special);
}

struct Decision {
  double value = 0, magnitude = 0;  // as in ExactOut
  std::uint64_t rounded = 0;
  Rule rule = Rule::compensated;
};

/// Decides single outputs by walking their terms; one per thread (it owns MPFR scratch).
class Decider {
 public:
  Decider(const Contraction& c, const Operands& operands, DType out)
      : c_(&c), operands_(&operands), out_(out) {}

  Decision decide(std::int64_t o);

 private:
  Decision decide_by_mpfr(std::int64_t o, double magnitude, bool all_negative_zero);

  const Contraction* c_;
  const Operands* operands_;
  DType out_;
  MpfrSum mpfr_;
};

}  // namespace ulpscope
