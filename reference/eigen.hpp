#pragma once
// A second witness for the exact reference: the operators written down once more with Eigen in fp64, from
// shapes and parameters (im2col and matrix products), sharing no index map with reference/contraction.
#include <vector>

#include "reference/exact.hpp"
#include "reference/operators.hpp"

namespace ulpscope {

/// Every output of a problem in fp64 and how far it may be off: |value - truth| <= bound. Infinities and NaN
/// among the operands make both NaN wherever they take part, padding included.
struct EigenResult {
  std::vector<double> value, bound;
};

/// Computes the whole problem, holding its operands and one image's columns as doubles: for problems of
/// moderate size. Throws Error when an operand's size does not fit, or when more than 2^28 doubles would be
/// needed.
EigenResult eigen_reference(const Problem& problem, const Operands& operands);

}  // namespace ulpscope
