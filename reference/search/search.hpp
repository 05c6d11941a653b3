#pragma once
// Finds the plan of an implementation that cannot be called: only its inputs and some of its outputs are
// there.
//
// The search walks a family of plans made from the operator's structure (axis chunks, tap order, slices of
// every alignment, dealt tiles, residue first, lanes and shuffles, block lengths). A candidate must give the
// same bits on a few outputs, then on more, then, by replay, on every observed one. How many were tried is
// reported: a lucky fit is visible.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reference/arithmetic/operand.hpp"
#include "reference/contraction.hpp"
#include "reference/exact.hpp"
#include "reference/plan.hpp"

namespace ulpscope {

/// What was seen: outputs by linear index (ascending) and their right-aligned bits.
struct Observation {
  std::vector<std::int64_t> outputs;
  std::vector<std::uint32_t> bits;
  DType dtype = DType::f32;
};

/// The outputs [begin, begin + count) of a dense array of right-aligned bits.
Observation observe(const TensorView& output, std::int64_t begin = 0);

struct SearchOptions {
  std::vector<OperandFormat> operands;  // admitted; empty: fp32, TF32 by all three roundings, bf16, fp16
  /// Plans to try before the family: declared ones, ones found for a neighbour.
  std::vector<std::string> hints;
  /// A tensor core's step to try first (an instruction named in a kernel's name); 0: none.
  int block_terms = 0;
  double seconds = 60;  // gives up after about this long; hints are tried in any case
  int threads = 0;
  /// A last test for a plan that gives every observed bit (a hash of outputs that were not kept, say); called
  /// from several threads. Many plans may agree on a few 16-bit outputs: with this the search goes on until
  /// one passes, and ends there, so `unique` is not claimed.
  std::function<bool(const Plan&)> confirm;
};

/// How far the observed outputs are from the exact result of operands shortened this way, in units of 2^-24 *
/// S (root mean square), and whether that is within what any order of rounded sums can do.
struct OperandFit {
  OperandFormat a = OperandFormat::fp32, b = OperandFormat::fp32;
  double residual = 0;
  bool admissible = false;
};

/// Fewer outputs than this a plan may give by chance: thousands are tried, and orders differ by a bit or two.
inline constexpr std::size_t kFewOutputs = 16;

struct SearchResult {
  std::vector<std::string> plans;  // give every observed bit; the simplest first
  bool unique = false;             // exactly one program among all tried did, and not for few outputs
  bool rounded_exact_fits =
      false;              // so does the correctly rounded exact result: nothing can be told (16-bit)
  double best_share = 0;  // of observed outputs; 1 if plans is not empty
  std::string best_plan;  // that reached it, if any came close
  std::string
      unordered_plan;  // atomics: some order of its parts gives each sampled output; no plan predicts them
  std::vector<OperandFit> operands;  // every rounding tried, least residual first
  std::int64_t candidates = 0;       // plans tried (different programs)
  std::int64_t outputs_screened = 0, outputs_confirmed = 0;
  std::int64_t refuted = 0;  // plans that gave every observed bit, but failed SearchOptions::confirm
  std::string refuted_plan;  // the first of them
  bool exhausted = true;     // false: the time ran out first
  double seconds = 0;
};

SearchResult find_plans(const Contraction& c, const Operands& operands, const Observation& seen,
                        const SearchOptions& options = {});

}  // namespace ulpscope
