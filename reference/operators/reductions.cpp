// dot(a, b), sum(a), mean(a): one output, over all elements. The mean divides once, at the end.
#include "reference/operators/registry.hpp"

namespace ulpscope {
namespace {

Contraction lower_dot(const Problem& problem) {
  if (problem.a != problem.b)
    refuse(problem, "the operands' shapes differ: " + to_string(problem.a) + " and " + to_string(problem.b));
  Contraction c;
  c.red = {{"k", elements(problem.a), 1, 1, {}}};
  return c;
}

Contraction lower_sum(const Problem& problem) {
  Contraction c;
  c.red = {{"k", elements(problem.a), 1, 0, {}}};
  c.b_is_ones = true;
  return c;
}

Contraction lower_mean(const Problem& problem) {
  Contraction c = lower_sum(problem);
  c.divisor = static_cast<double>(elements(problem.a));
  return c;
}

OperatorDefinition reduction(const char* name, bool two_operands, Contraction (*lowering)(const Problem&)) {
  OperatorDefinition d;
  d.name = name;
  d.has_second_operand = two_operands;
  d.lower = lowering;
  return d;
}

const RegisterOperator dot{reduction("dot", true, lower_dot)};
const RegisterOperator sum{reduction("sum", false, lower_sum)};
const RegisterOperator mean{reduction("mean", false, lower_mean)};

}  // namespace
}  // namespace ulpscope
