#include "reference/operators.hpp"

#include <algorithm>
#include <map>

#include "reference/error.hpp"
#include "reference/operators/registry.hpp"

namespace ulpscope {
namespace {

// A function-local static: registration runs during static initialisation, in any order.
std::map<std::string, OperatorDefinition, std::less<>>& registry() {
  static std::map<std::string, OperatorDefinition, std::less<>> map;
  return map;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

constexpr std::int64_t kLargestParameter = std::int64_t{1} << 31;  // keeps coordinate arithmetic in 63 bits

void check_per_axis(const Problem& problem, const std::array<std::int64_t, 3>& values, const char* name,
                    std::int64_t least, std::int64_t unused, int used) {
  for (int x = 0; x < 3; ++x) {
    const std::int64_t v = values[static_cast<std::size_t>(x)];
    if (x >= used && v != unused)
      refuse(problem, std::string(name) + " " + std::to_string(v) + " is given for spatial axis " +
                          std::to_string(x) + ", which the operator does not have: leave it at " +
                          std::to_string(unused));
    if (v < least || v >= kLargestParameter)
      refuse(problem, std::string(name) + " must lie between " + std::to_string(least) +
                          " and 2^31 - 1, got " + std::to_string(v));
  }
}

void check_operand(const Problem& problem, const Shape& shape, const char* operand) {
  for (const std::int64_t extent : shape)
    if (extent < 1)
      refuse(problem,
             std::string(operand) + " has shape " + to_string(shape) + ": every extent must be at least 1");
  elements(shape);
}

void check_parameters(const Problem& problem, const OperatorDefinition& d) {
  const OperatorParams& p = problem.params;
  check_operand(problem, problem.a, "the first operand");
  if (d.has_second_operand)
    check_operand(problem, problem.b, "the second operand");
  else if (!problem.b.empty())
    refuse(problem, "takes one operand, but a second of shape " + to_string(problem.b) + " is given");
  check_per_axis(problem, p.stride, "stride", 1, 1, d.spatial_rank);
  check_per_axis(problem, p.padding, "padding", 0, 0, d.spatial_rank);
  check_per_axis(problem, p.dilation, "dilation", 1, 1, d.spatial_rank);
  check_per_axis(problem, p.output_padding, "output padding", 0, 0,
                 d.has_output_padding ? d.spatial_rank : 0);
  if (p.groups < 1) refuse(problem, "groups must be at least 1, got " + std::to_string(p.groups));
  if (p.groups != 1 && !d.has_groups) refuse(problem, "has no groups: leave them at 1");
  if ((p.transpose_a || p.transpose_b) && !d.has_transposes) refuse(problem, "takes no transposed operand");
  if (p.bias && !d.has_bias) refuse(problem, "takes no bias");
  if (d.has_target) {
    if (p.target.size() != static_cast<std::size_t>(d.spatial_rank))
      refuse(problem, "needs a target of " + std::to_string(d.spatial_rank) +
                          " spatial extents (the gradient's own), got " + std::to_string(p.target.size()));
    check_operand(problem, p.target, "the target");
  } else if (!p.target.empty()) {
    refuse(problem, "takes no target shape");
  }
}

std::string per_axis(const std::array<std::int64_t, 3>& values, int rank) {
  std::string text = std::to_string(values[0]);
  const bool same =
      std::all_of(values.begin(), values.begin() + rank, [&](std::int64_t v) { return v == values[0]; });
  if (!same)
    for (int x = 1; x < rank; ++x) text += "," + std::to_string(values[static_cast<std::size_t>(x)]);
  return text;
}

}  // namespace

RegisterOperator::RegisterOperator(OperatorDefinition definition) {
  std::string name = definition.name;
  registry().emplace(std::move(name), std::move(definition));
}

const OperatorDefinition& operator_definition(std::string_view name) {
  if (const auto found = registry().find(name); found != registry().end()) return found->second;
  const std::string* nearest = nullptr;
  for (const auto& [known, unused] : registry())
    if (!nearest || edit_distance(known, name) < edit_distance(*nearest, name)) nearest = &known;
  std::string all;
  for (const auto& [known, unused] : registry()) all += (all.empty() ? "" : ", ") + known;
  throw Error("unknown operator '" + std::string(name) + "'" +
              (nearest ? ": did you mean '" + *nearest + "'? (known: " + all + ")" : std::string()));
}

void refuse(const Problem& problem, const std::string& message) {
  throw Error(problem.params.op + ": " + message);
}

std::int64_t checked_mul(const Problem& problem, std::int64_t x, std::int64_t y) {
  std::int64_t z;
  if (__builtin_mul_overflow(x, y, &z)) refuse(problem, "sizes overflow 63 bits: choose smaller extents");
  return z;
}

std::int64_t checked_add(const Problem& problem, std::int64_t x, std::int64_t y) {
  std::int64_t z;
  if (__builtin_add_overflow(x, y, &z)) refuse(problem, "sizes overflow 63 bits: choose smaller extents");
  return z;
}

void require_rank(const Problem& problem, const Shape& shape, std::size_t rank, const char* operand,
                  const char* layout) {
  if (shape.size() != rank)
    refuse(problem, std::string(operand) + " must be " + layout + ", got shape " + to_string(shape));
}

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const auto& [name, definition] : registry()) names.push_back(name);
  return names;
}

int spatial_rank(std::string_view op) {
  return operator_definition(op).spatial_rank;
}

Contraction lower(const Problem& problem) {
  const OperatorDefinition& definition = operator_definition(problem.params.op);
  check_parameters(problem, definition);
  Contraction c = definition.lower(problem);
  c.a_size = elements(problem.a);
  c.b_size = c.b_is_ones ? 0 : elements(problem.b);
  c.has_bias = problem.params.bias;
  if (!c.has_bias) c.bias_size = 0;
  elements(c.out_shape);
  c.terms();  // refuses what 63 bits cannot count
  return c;
}

Shape output_shape(const Problem& problem) {
  return lower(problem).out_shape;
}

Shape bias_shape(const Problem& problem) {
  Problem with_bias = problem;
  with_bias.params.bias = true;
  return {lower(with_bias).bias_size};
}

std::string to_string(const Problem& problem) {
  const OperatorDefinition& d = operator_definition(problem.params.op);
  const OperatorParams& p = problem.params;
  std::string text = p.op + " " + to_string(problem.a);
  if (d.has_second_operand) text += " * " + to_string(problem.b);
  if (d.spatial_rank > 0) {
    text += " s" + per_axis(p.stride, d.spatial_rank) + " p" + per_axis(p.padding, d.spatial_rank);
    if (d.has_output_padding) text += " op" + per_axis(p.output_padding, d.spatial_rank);
    text += " d" + per_axis(p.dilation, d.spatial_rank) + " g" + std::to_string(p.groups);
  }
  if (d.has_target) text += " -> " + to_string(p.target);
  if (p.transpose_a) text += " tA";
  if (p.transpose_b) text += " tB";
  if (p.bias) text += " bias";
  return text;
}

}  // namespace ulpscope
