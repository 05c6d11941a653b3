#pragma once
// Finds the order of a sum among the plans that libraries are known to use, or reads the whole tree.
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "reference/probe/masks.hpp"
#include "reference/search/family.hpp"

namespace ulpscope {

/// An order and its division, without what happens to numbers, as the masks see it.
struct Candidate {
  Plan plan;
  Program program;
  int block_terms;
};

/// Launches kept for what follows the order: probe_sums, and order_pairs.
inline constexpr std::int64_t kSumLaunches = 3, kPairLaunches = 1;

/// Writes masks, coverage, candidates, tree and notes into the result.
class OrderFinder {
 public:
  OrderFinder(ProbeBench& bench, Masks& masks, const ProbeOptions& options, std::mt19937_64& rng,
              ProbeResult& result);

  /// Measures pairs and keeps the candidates that agree with all of them; if none does, the tree itself, or
  /// what came closest.
  void find();
  /// Masks do not tell which of two products comes first, but an FMA rounds only the first: for every sum of
  /// two products of a tree that was read, one way round or the other leaves 2^-2h of -(1 + 2^(1-h)) + (1 +
  /// 2^-h)^2.
  void order_pairs();
  const std::vector<Candidate>& survivors() const { return survivors_; }

 private:
  using Terms = std::vector<std::int64_t>;
  std::int64_t launches_left() const { return options_.max_launches - bench_.launches(); }
  Terms sample(std::int64_t most, std::int64_t offset, const Terms& without = {});
  Terms uncovered(std::int64_t most, const Terms& without = {});
  MaskSet measure(const Terms& rows, Terms columns);
  void select();
  void consider(const Plan& plan, Program program);
  void consider_hints();
  std::vector<int> block_lengths() const;
  void consider_family(int tier);
  void read_tree();
  void take_tree();

  ProbeBench& bench_;
  Masks& masks_;
  const ProbeOptions& options_;
  std::mt19937_64& rng_;
  ProbeResult& result_;
  std::vector<NamedExtent> axes_;
  std::vector<Candidate> survivors_;
  std::vector<MaskSet> sets_;
  std::optional<SummationTree> tree_;
  std::vector<bool> covered_;
};

}  // namespace ulpscope
