#pragma once
// The order of additions, read from masks.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "reference/plan/program.hpp"
#include "reference/probe/bench.hpp"

namespace ulpscope {

/// The numbers masks are made of. A term is small_a*small_b; a mask big_a*small_b or small_a*big_b; `limit`
/// ones can be counted beside a mask.
struct MaskScale {
  float small_a = 1, small_b = 1, big_a = 0x1p96f, big_b = 0x1p96f;
  std::int64_t limit = 0;
};

/// A measured pair: `outside` of the `counted` terms were added outside the smallest subtree that holds i and
/// j.
struct MaskedPair {
  std::int64_t i, j;
  std::int64_t outside;
};

/// Pairs measured in one go over the same counted terms.
struct MaskSet {
  std::vector<bool> counted;  // by term; i and j themselves never count
  std::int64_t count = 0;
  std::vector<MaskedPair> pairs;
  bool sound = true;  // every result was a whole number in range
};

class Masks {
 public:
  Masks(ProbeBench& bench, const MaskScale& scale) : bench_(bench), scale_(scale) {}
  /// Every i of `rows` with every j of `columns` (i == j is left out).
  MaskSet grid(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& columns,
               std::uint64_t seed);
  /// Chosen pairs; all terms are counted. Needs scale.limit >= terms.
  MaskSet pairs(const std::vector<std::pair<std::int64_t, std::int64_t>>& wanted);
  bool counts_all() const { return scale_.limit >= bench_.terms(); }
  std::int64_t launches_for_pairs(std::int64_t n) const { return bench_.launches_for(n, 1); }

 private:
  std::int64_t count_of(double result, MaskSet& set) const;
  ProbeBench& bench_;
  MaskScale scale_;
};

/// For every term j: how many of `counted` (all, if empty) lie in the smallest subtree of `program` that
/// holds i and j.
std::vector<std::int64_t> subtree_counts(const Program& program, int block_terms, std::int64_t i,
                                         const std::vector<bool>& counted);

/// Pairs of a set that a program predicts. Stops at the first miss if `all_or_nothing`.
std::int64_t agreeing(const Program& program, int block_terms, const MaskSet& set, bool all_or_nothing);

/// The whole tree, by n - 1 pairs for a chain and more for bushier trees; nothing if it would take more than
/// `max_launches` or the masks contradict each other (an order that depends on values, or masks that do not
/// swallow).
std::optional<SummationTree> reveal_tree(Masks& masks, std::int64_t terms, std::int64_t max_launches,
                                         MaskSet& measured);

}  // namespace ulpscope
