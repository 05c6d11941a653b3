#pragma once
// What an implementation does to numbers: operands, products, sums.
#include "reference/probe/bench.hpp"
#include "reference/probe/masks.hpp"

namespace ulpscope {

/// Which shortenings explain what becomes of single operands; whether subnormal numbers survive. Order does
/// not matter: at most two terms are not zero.
void probe_operands(ProbeBench& bench, ProbedArithmetic& seen);

/// Masks that work here: ones that add up exactly, and masks that swallow them. `notes` gets what was odd,
/// such as a sum of ones that is not the number of terms.
MaskScale probe_scale(ProbeBench& bench, std::vector<std::string>& notes);

/// How sums are formed, from a few terms that are known to follow each other: `chain` holds places in order
/// of addition, steps of `block_terms` (1: one after another).
void probe_sums(ProbeBench& bench, const std::vector<std::int64_t>& chain, int block_terms,
                ProbedArithmetic& seen);

/// For pairs of terms that are summed by themselves: whether the second product is added by an FMA to the
/// rounded first one
/// (`swapped`: the first to the rounded second). All false where operands are too short to tell.
std::vector<bool> second_is_fused(ProbeBench& bench,
                                  const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs,
                                  bool swapped);

/// The arithmetics that agree with what was seen, the likeliest first.
std::vector<Arithmetic> arithmetics_of(const ProbedArithmetic& seen);

}  // namespace ulpscope
