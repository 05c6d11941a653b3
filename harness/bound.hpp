#pragma once
// How large an error may be, before any output is seen: the bound of a declared plan, or else of the widest
// arithmetic that the mode admits; and how large it is expected to be.
#include <optional>
#include <string>

#include "harness/measure.hpp"
#include "kernels/support/registry.hpp"
#include "reference/plan.hpp"

namespace ulpscope {

/// Whether a mode promises room for this plan: operands no shorter than it allows (design: "Modes"; 16-bit
/// data may always be used in its own format), accumulators of at least fp32. If not, `why` says what is too
/// short.
bool admits(Mode mode, DType in, const Plan& plan, std::string& why);

/// The bound of a plan in the form that measuring takes.
OutputBound bound_of_plan(const Plan& plan, const Contraction& c, const Operands& operands, int threads = 0);

/// The widest bound of anything the mode admits: products and sums in any order, with and without FMA,
/// operands shortened as far as the mode allows by truncation, tensor cores of every architecture, output in
/// `out`.
OutputBound bound_of_mode(Mode mode, DType in, DType out, const Contraction& c, const Operands& operands,
                          int threads = 0);

/// The usual plan of a mode, where none is declared: what the expected error is computed for.
std::string usual_plan(Mode mode, DType in, DType out);

/// Expected largest |error| over all outputs of a correct implementation of the plan on this data
/// (harness/statistics); empty where the model does not apply.
std::optional<double> expected_max(const Plan& plan, const Contraction& c, const Operands& operands,
                                   int threads = 0);

/// An upper limit of S over all outputs: number of terms times the largest finite magnitudes of the operands
/// (plus the bias'). What MeasureSetup::magnitude_limit wants.
double magnitude_limit(const Contraction& c, const Operands& operands, int threads = 0);

}  // namespace ulpscope
