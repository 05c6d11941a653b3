// gemm: out[.., i, j] = sum over k of A[.., i, k] * B[.., k, j]; leading axes are a batch, which either
// operand may leave out to be shared by all of it. linear: out[.., j] = sum over k of x[.., k] * w[j, k].
#include "reference/operators/registry.hpp"

namespace ulpscope {
namespace {

Contraction matrix_product(const Shape& lead, std::int64_t batch, const OutAxis& i, const OutAxis& j,
                           const RedAxis& k, std::int64_t a_batch_stride, std::int64_t b_batch_stride) {
  Contraction c;
  c.out = {{"batch", batch, a_batch_stride, b_batch_stride, 0}, i, j};
  c.red = {k};
  c.out_shape = lead;
  c.bias_size = j.size;
  return c;
}

Contraction lower_gemm(const Problem& problem) {
  const OperatorParams& p = problem.params;
  if (problem.a.size() < 2 || problem.b.size() < 2)
    refuse(problem, "operands must be matrices [.., M, K] and [.., K, N], got shapes " +
                        to_string(problem.a) + " and " + to_string(problem.b));
  const Shape lead_a(problem.a.begin(), problem.a.end() - 2), lead_b(problem.b.begin(), problem.b.end() - 2);
  if (!lead_a.empty() && !lead_b.empty() && lead_a != lead_b)
    refuse(problem, "the batches differ: " + to_string(lead_a) + " and " + to_string(lead_b));
  const std::int64_t a0 = problem.a.end()[-2], a1 = problem.a.end()[-1];
  const std::int64_t b0 = problem.b.end()[-2], b1 = problem.b.end()[-1];
  const std::int64_t m = p.transpose_a ? a1 : a0, k = p.transpose_a ? a0 : a1;
  const std::int64_t n = p.transpose_b ? b0 : b1, kb = p.transpose_b ? b1 : b0;
  if (k != kb)
    refuse(problem, "the first operand sums over " + std::to_string(k) + " terms, the second over " +
                        std::to_string(kb) + ": transpose one or mend its shape");
  Shape lead = lead_a.empty() ? lead_b : lead_a;
  const std::int64_t batch = elements(lead);
  lead.insert(lead.end(), {m, n});
  return matrix_product(lead, batch, {"i", m, p.transpose_a ? 1 : a1, 0, 0},
                        {"j", n, 0, p.transpose_b ? b1 : 1, 1},
                        {"k", k, p.transpose_a ? a1 : 1, p.transpose_b ? 1 : b1, {}},
                        lead_a.empty() ? 0 : m * k, lead_b.empty() ? 0 : k * n);
}

Contraction lower_linear(const Problem& problem) {
  if (problem.a.empty()) refuse(problem, "the input must be [.., K], got a scalar");
  require_rank(problem, problem.b, 2, "the weight", "[N, K]");
  const std::int64_t k = problem.a.back(), n = problem.b[0];
  if (problem.b[1] != k)
    refuse(problem, "the input has " + std::to_string(k) + " features, the weight " +
                        std::to_string(problem.b[1]) + ": they must agree");
  Shape shape(problem.a.begin(), problem.a.end() - 1);
  const std::int64_t m = elements(shape);
  shape.push_back(n);
  return matrix_product(shape, 1, {"i", m, k, 0, 0}, {"j", n, 0, k, 1}, {"k", k, 1, 1, {}}, 0, 0);
}

OperatorDefinition gemm_definition() {
  OperatorDefinition d;
  d.name = "gemm";
  d.has_transposes = d.has_bias = true;
  d.lower = lower_gemm;
  return d;
}

OperatorDefinition linear_definition() {
  OperatorDefinition d;
  d.name = "linear";
  d.has_bias = true;
  d.lower = lower_linear;
  return d;
}

const RegisterOperator gemm{gemm_definition()};
const RegisterOperator linear{linear_definition()};

}  // namespace
}  // namespace ulpscope
