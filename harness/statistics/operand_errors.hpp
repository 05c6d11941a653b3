#pragma once
// What shortening does to operands, element by element.
#include <cstddef>
#include <vector>

#include "reference/arithmetic/operand.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {

/// Whether an operand's rounding error counts as what it is (its data and rule are known), or as one that a
/// correct implementation might make: uniform over half a unit either way for rounding to nearest, over a
/// unit toward zero for truncation. A number that the format holds has no error either way.
enum class Roundings { known, random };

/// The errors of one output's n operands of one side. Arrays of n.
struct OperandErrors {
  std::vector<double> shortened;  // the values after shortening
  std::vector<double> offset;     // expected error
  std::vector<double> half;       // half width of the uniform error about it
};

/// Shortens n values, which a tensor of format `stored` holds; resizes and fills `out`.
void operand_errors(OperandFormat format, const double* x, std::size_t n, Roundings roundings,
                    OperandErrors& out);

/// The errors of one side's operands minus the other's, where both start from the same x: they cancel where
/// both shorten alike, and are known where only the rule differs.
void operand_differences(OperandFormat first, OperandFormat second, const double* x, std::size_t n,
                         Roundings roundings, OperandErrors& out);

/// Product of a multi-pass scheme (plan README, `passes`) minus a*b, for each of n pairs.
void pass_errors(const OperandRule& rule, const double* a, const double* b, std::size_t n, double* error);

}  // namespace ulpscope
