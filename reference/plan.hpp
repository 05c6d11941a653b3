#pragma once
// A plan is arithmetic + order, one line of text: what an implementation does to the terms of one output.
//   fp32 | fma | order c kw
//   fp32 | fma | order k | split 16 seq
//   tf32_rna | block 8 frac 25 rz | order c/16 kw c | out fp32
// (grammar: reference/README.md). `order c/16 kw c` reads outermost first: chunks of 16 channels, then taps,
// then the channels of the chunk.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "reference/contraction.hpp"
#include "reference/exact.hpp"

namespace ulpscope {

struct Plan;  // reference/plan/plan_types.hpp: for those who build or take apart plans

std::shared_ptr<const Plan> parse_plan(std::string_view text);  // throws Error pointing at the offending word
std::string to_string(const Plan& plan);  // canonical text; parses back to the same plan

/// Predicts the bits of outputs [begin, begin+count): writes right-aligned bits of the plan's output format,
/// one uint32 each. Same result for any number of threads. Throws Error for a plan with `unordered` partial
/// sums.
void replay(const Plan& plan, const Contraction& c, const Operands& operands, std::int64_t begin,
            std::int64_t count, std::uint32_t* out, int threads = 0);

/// For plans whose outermost partial sums are `unordered`: whether some order of adding them gives `bits`
/// (right-aligned, of the plan's output format) for output `o`. Throws Error for other plans, and beyond 16
/// partial sums. With many parts it takes seconds: false, too, once `give_up` says so.
bool reachable(const Plan& plan, const Contraction& c, const Operands& operands, std::int64_t o,
               std::uint32_t bits, const std::function<bool()>& give_up = {});

/// The output format of a plan ("out bf16"; fp32 if it says nothing).
DType output_format(const Plan& plan);

/// Per-output error bound of a correct implementation of `plan`, |result - true| <= at(S), from S = sum
/// |a||b| (+ |bias|) of the given operands and the number of terms (numerics: expm1 of the sum of unit
/// roundoffs on the longest way through the plan's tree, or n*u, whichever is less; shortened operands and
/// the output's rounding included). Zero where the data make every partial sum exact, in any order: operands
/// that lose nothing, products on a grid that every format of the plan holds up to their largest sum.
struct PlanBound {
  double per_s = 0;      // bound = per_s * S + absolute
  double absolute = 0;   // underflow terms
  double largest_s = 0;  // beyond this S an overflow cannot be excluded and there is no finite bound
  std::string formula;   // the derivation in one line, for reports

  double at(double s) const;  // infinite (also for NaN) where there is no bound
};
PlanBound bound_of(const Plan& plan, const Contraction& c, const Operands& operands, int threads = 0);

}  // namespace ulpscope
