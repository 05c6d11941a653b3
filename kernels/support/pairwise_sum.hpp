#pragma once
#include "kernels/support/sums.hpp"

namespace ulpscope {

/// Pairwise summation of a stream: a counter in binary whose set bits hold finished sums of 2^i terms. Every
/// product is rounded; adjacent pairs are added, then pairs of pairs, and an odd one waits (plan:
/// `pairwise`). Levels are walked by template recursion, so that constant indices keep them in registers.
struct PairwiseSum : SumBase {
  static constexpr bool zero_is_neutral = false;  // a zero would take a place in the tree
  static constexpr int kLevels = 31;              // up to 2^31 - 1 terms
  float level[kLevels] = {};
  std::uint32_t count = 0;

  ULPSCOPE_HD void add(float x, float w, int) {
    carry<0>(fma_rn(x, w, 0.0f));
    ++count;
  }
  ULPSCOPE_HD float result() const { return left_over<0>(0, false); }
  ULPSCOPE_HD float with_bias(float bias) const { return add_rn(result(), bias); }

 private:
  template <int I>
  ULPSCOPE_HD void carry(float v) {
    if constexpr (I < kLevels) {
      if ((count >> I & 1u) == 0)
        level[I] = v;
      else
        carry<I + 1>(add_rn(level[I], v));
    }
  }
  // What is left joins from the smallest up: on each level of the tree the odd one out waits for its elders.
  template <int I>
  ULPSCOPE_HD float left_over(float sum, bool any) const {
    if constexpr (I < kLevels) {
      const bool here = (count >> I & 1u) != 0;
      const float joined = any ? add_rn(level[I], sum) : level[I];
      return left_over<I + 1>(here ? joined : sum, any || here);
    } else {
      return sum;
    }
  }
};

}  // namespace ulpscope
