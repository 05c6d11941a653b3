#pragma once
// Additions, products and FMAs in any accumulator format, one value at a time and rounded once. Values travel
// as doubles, of which every format is a subset.
#include "reference/formats.hpp"

namespace ulpscope {

double add_in(DType format, double x, double y);
double mul_in(DType format, double x, double y);
/// fl(a*b + c). For narrow formats a*b must be exact in a double (operands of at most 26 significant bits).
double fma_in(DType format, double a, double b, double c);
double round_in(DType format, double x);

}  // namespace ulpscope
