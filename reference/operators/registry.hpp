#pragma once
// How an operator enters the project: one file in this folder holds its lowering and a RegisterOperator at
// namespace scope. Everything else (exact, bounds, replay, probes, mutants) works from the contraction alone.
#include <functional>
#include <string>

#include "reference/operators.hpp"

namespace ulpscope {

struct OperatorDefinition {
  std::string name;      // "conv2d"
  int spatial_rank = 0;  // axes that stride, padding, dilation apply to
  bool has_second_operand = true;
  bool has_output_padding = false;
  bool has_groups = false;
  bool has_transposes = false;  // transpose_a, transpose_b
  bool has_target = false;      // needs OperatorParams::target, one extent per spatial axis
  bool has_bias = false;        // accepts a bias
  /// Lowers a problem whose parameters `lower` has checked already against the flags above and whose operands
  /// have extents of at least 1; throws Error when the shapes do not fit together.
  std::function<Contraction(const Problem&)> lower;
};

struct RegisterOperator {
  explicit RegisterOperator(OperatorDefinition definition);
};

const OperatorDefinition& operator_definition(std::string_view name);  // throws Error with a suggestion

// ---- helpers for lowerings -------------------------------------------------------------------------------
/// Throws Error("<op>: <message>").
[[noreturn]] void refuse(const Problem& problem, const std::string& message);
/// Products and sums in 63 bits; refuse() on overflow.
std::int64_t checked_mul(const Problem& problem, std::int64_t x, std::int64_t y);
std::int64_t checked_add(const Problem& problem, std::int64_t x, std::int64_t y);
void require_rank(const Problem& problem, const Shape& shape, std::size_t rank, const char* operand,
                  const char* layout);
/// Strides of a dense row-major array, in elements.
Shape dense_strides(const Shape& shape);

}  // namespace ulpscope
