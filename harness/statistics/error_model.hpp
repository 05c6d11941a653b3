#pragma once
// The error a correct implementation of a plan is expected to make on given data, output by output, before
// any output is seen. Two implementations against each other likewise.
//
// Per output (numerics: "Bounds"): every operand that loses bits adds |other factor| times its error; every
// rounding on the way adds half a unit of the partial sum there; truncation (tf32_rz, tensor cores' RZ) adds
// its mean. Large problems are sampled: evenly spread outputs, each standing for its share.
#include <cstdint>

#include "harness/statistics/element_source.hpp"
#include "harness/statistics/mixture.hpp"
#include "harness/statistics/operand_errors.hpp"
#include "reference/contraction.hpp"
#include "reference/plan.hpp"

namespace ulpscope {

struct ModelOptions {
  Roundings roundings = Roundings::random;
  std::int64_t max_terms = std::int64_t{1} << 23;  // terms looked at in all: bounds time and memory
  int threads = 0;                                 // results do not depend on it
};

/// result - true value. Outputs whose true value is not finite are left out (and not in `total`).
ErrorMixture model_error(const Plan& plan, const Contraction& c, const ModelData& data,
                         const ModelOptions& options = {});

/// candidate - reference, on the same inputs. Operand errors that both make cancel; accumulation errors are
/// independent, unless the plans are the same: then there is no difference.
ErrorMixture model_difference(const Plan& candidate, const Plan& reference, const Contraction& c,
                              const ModelData& data, const ModelOptions& options = {});

}  // namespace ulpscope
