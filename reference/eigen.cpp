#include "reference/eigen.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

using Index = Eigen::Index;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Map = Eigen::Map<Matrix>;
using ConstMap = Eigen::Map<const Matrix>;
using Vector = Eigen::VectorXd;
using Extents = std::array<Index, 3>;

constexpr std::int64_t kMostDoubles = std::int64_t{1} << 28;

void limit(std::int64_t doubles) {
  if (doubles > kMostDoubles)
    throw Error("the Eigen witness would need " + std::to_string(doubles) +
                " doubles at once: give it a smaller case");
}

Vector doubles(const TensorView& view, const Shape& shape, const char* name) {
  const std::int64_t n = elements(shape);
  limit(n);
  if (!view.data || view.size() != n)
    throw Error(std::string(name) + " should have shape " + to_string(shape) + ", it holds " +
                std::to_string(view.data ? view.size() : 0) + " elements");
  Vector v(n);
  for (Index i = 0; i < n; ++i) v[i] = view.at(i);
  return v;
}

// Spatial extents after the two leading ones; axes that the operator lacks have extent 1.
Extents spatial(const Shape& shape, std::size_t skip = 2) {
  Extents e{1, 1, 1};
  for (std::size_t d = skip; d < shape.size(); ++d) e[d - skip] = shape[d];
  return e;
}

Index volume(const Extents& e) {
  return e[0] * e[1] * e[2];
}

// The window of a convolution: which input position a tap sees at an output position; -1 in the padding.
struct Window {
  const OperatorParams& p;
  Extents input, output, kernel;

  Index source(Index position, Index tap) const {
    Index linear = 0;
    Extents o, k;
    for (std::size_t s = 3; s-- > 0;) {
      o[s] = position % output[s];
      position /= output[s];
      k[s] = tap % kernel[s];
      tap /= kernel[s];
    }
    for (std::size_t s = 0; s < 3; ++s) {
      const Index i = o[s] * p.stride[s] - p.padding[s] + k[s] * p.dilation[s];
      if (i < 0 || i >= input[s]) return -1;
      linear = linear * input[s] + i;
    }
    return linear;
  }

  /// [channels * taps, positions] of an image [channels, input].
  Matrix columns(const double* image, Index channels) const {
    const Index taps = volume(kernel), positions = volume(output), pixels = volume(input);
    limit(channels * taps * positions);
    Matrix m(channels * taps, positions);
    for (Index t = 0; t < taps; ++t)
      for (Index o = 0; o < positions; ++o) {
        const Index i = source(o, t);
        for (Index c = 0; c < channels; ++c) m(c * taps + t, o) = i < 0 ? 0.0 : image[c * pixels + i];
      }
    return m;
  }

  /// The adjoint: adds [channels * taps, positions] into an image [channels, input].
  void scatter(const Matrix& m, Index channels, double* image) const {
    const Index taps = volume(kernel), positions = volume(output), pixels = volume(input);
    for (Index t = 0; t < taps; ++t)
      for (Index o = 0; o < positions; ++o) {
        const Index i = source(o, t);
        if (i < 0) continue;
        for (Index c = 0; c < channels; ++c) image[c * pixels + i] += m(c * taps + t, o);
      }
  }
};

// One evaluation of a linear operator on given (or absolute) operands: called once for the sum, once for S.
using Evaluate = Vector (*)(const Problem&, const Vector& a, const Vector& b);

Vector convolution(const Problem& q, const Vector& a, const Vector& b) {
  const Index images = q.a[0], cin = q.a[1], cout = q.b[0], groups = q.params.groups;
  Window w{q.params, spatial(q.a), {}, spatial(q.b)};
  for (std::size_t s = 0; s < 3; ++s)
    w.output[s] = (w.input[s] + 2 * q.params.padding[s] - q.params.dilation[s] * (w.kernel[s] - 1) - 1) /
                      q.params.stride[s] +
                  1;
  const Index rows = cout / groups, depth = cin / groups * volume(w.kernel), positions = volume(w.output);
  Vector out(images * cout * positions);
  for (Index n = 0; n < images; ++n)
    for (Index g = 0; g < groups; ++g)
      Map(out.data() + (n * cout + g * rows) * positions, rows, positions).noalias() =
          ConstMap(b.data() + g * rows * depth, rows, depth) *
          w.columns(a.data() + (n * cin + g * cin / groups) * volume(w.input), cin / groups);
  return out;
}

// A transposed convolution, and backward-input: the adjoint of the convolution that maps `out` to `a`.
Vector adjoint(const Problem& q, const Vector& a, const Vector& b) {
  const Index images = q.a[0], from = q.a[1], groups = q.params.groups, to = q.b[1] * groups;
  Window w{q.params, {}, spatial(q.a), spatial(q.b)};
  if (q.params.target.empty())
    for (std::size_t s = 0; s < 3; ++s)
      w.input[s] = (w.output[s] - 1) * q.params.stride[s] - 2 * q.params.padding[s] +
                   q.params.dilation[s] * (w.kernel[s] - 1) + q.params.output_padding[s] + 1;
  else
    w.input = spatial(q.params.target, 0);
  const Index taps = volume(w.kernel), positions = volume(w.output), pixels = volume(w.input);
  Vector out = Vector::Zero(images * to * pixels);
  for (Index n = 0; n < images; ++n)
    for (Index g = 0; g < groups; ++g) {
      const Index rows = from / groups, depth = to / groups * taps;
      limit(depth * positions);
      const Matrix columns = ConstMap(b.data() + g * rows * depth, rows, depth).transpose() *
                             ConstMap(a.data() + (n * from + g * rows) * positions, rows, positions);
      w.scatter(columns, to / groups, out.data() + (n * to + g * to / groups) * pixels);
    }
  return out;
}

Vector backward_weight(const Problem& q, const Vector& a, const Vector& b) {
  const Index images = q.a[0], cin = q.a[1], cout = q.b[1], groups = q.params.groups;
  const Window w{q.params, spatial(q.a), spatial(q.b), spatial(q.params.target, 0)};
  const Index rows = cout / groups, depth = cin / groups * volume(w.kernel), positions = volume(w.output);
  Vector out = Vector::Zero(cout * depth);
  for (Index n = 0; n < images; ++n)
    for (Index g = 0; g < groups; ++g)
      Map(out.data() + g * rows * depth, rows, depth).noalias() +=
          ConstMap(b.data() + (n * cout + g * rows) * positions, rows, positions) *
          w.columns(a.data() + (n * cin + g * cin / groups) * volume(w.input), cin / groups).transpose();
  return out;
}

Vector gemm(const Problem& q, const Vector& a, const Vector& b) {
  const Index a_rows = q.a.end()[-2], a_columns = q.a.end()[-1], b_rows = q.b.end()[-2],
              b_columns = q.b.end()[-1];
  const Index batch = std::max(a.size() / (a_rows * a_columns), b.size() / (b_rows * b_columns));
  const Index m = q.params.transpose_a ? a_columns : a_rows, n = q.params.transpose_b ? b_rows : b_columns;
  Vector out(batch * m * n);
  for (Index z = 0; z < batch; ++z) {
    const ConstMap x(a.data() + (q.a.size() > 2 ? z * a_rows * a_columns : 0), a_rows, a_columns);
    const ConstMap y(b.data() + (q.b.size() > 2 ? z * b_rows * b_columns : 0), b_rows, b_columns);
    const Matrix left = q.params.transpose_a ? Matrix(x.transpose()) : Matrix(x);
    const Matrix right = q.params.transpose_b ? Matrix(y.transpose()) : Matrix(y);
    Map(out.data() + z * m * n, m, n).noalias() = left * right;
  }
  return out;
}

Vector linear(const Problem& q, const Vector& a, const Vector& b) {
  const Index k = q.b[1], n = q.b[0], m = a.size() / k;
  Vector out(m * n);
  Map(out.data(), m, n).noalias() = ConstMap(a.data(), m, k) * ConstMap(b.data(), n, k).transpose();
  return out;
}

Vector dot(const Problem&, const Vector& a, const Vector& b) {
  return Vector::Constant(1, a.dot(b));
}
Vector sum(const Problem&, const Vector& a, const Vector&) {
  return Vector::Constant(1, a.sum());
}

Evaluate evaluation_of(const std::string& op) {
  const bool conv = op.rfind("conv", 0) == 0;
  if (conv && op.find("backward_weight") != std::string::npos) return backward_weight;
  if (conv && (op.find("transpose") != std::string::npos || op.find("backward_input") != std::string::npos))
    return adjoint;
  if (conv) return convolution;
  if (op == "gemm") return gemm;
  if (op == "linear") return linear;
  if (op == "dot") return dot;
  if (op == "sum" || op == "mean") return sum;
  throw Error("the Eigen witness does not know operator '" + op + "': add it to reference/eigen.cpp");
}

// Terms of one output at most; counted from shapes.
double most_terms(const Problem& q) {
  if (q.params.op == "gemm") return static_cast<double>(q.params.transpose_a ? q.a.end()[-2] : q.a.end()[-1]);
  if (q.params.op == "linear") return static_cast<double>(q.b[1]);
  if (q.b.empty() || q.params.op == "dot") return static_cast<double>(elements(q.a));
  if (!q.params.target.empty() && q.params.op.find("weight") != std::string::npos)
    return static_cast<double>(elements(q.b) / q.b[1]);
  return static_cast<double>(volume(spatial(q.b)) * q.a[1]);
}

}  // namespace

EigenResult eigen_reference(const Problem& problem, const Operands& operands) {
  const Evaluate evaluate = evaluation_of(problem.params.op);
  const Vector a = doubles(operands.a, problem.a, "the first operand");
  const Vector b = problem.b.empty() ? Vector() : doubles(operands.b, problem.b, "the second operand");
  Vector value = evaluate(problem, a, b), magnitude = evaluate(problem, a.cwiseAbs(), b.cwiseAbs());
  const auto outputs = static_cast<std::size_t>(value.size());
  if (problem.params.bias) {
    const bool channels = problem.params.op.rfind("conv", 0) == 0;
    const Index n = operands.bias.size(), images = channels ? problem.a[0] : value.size() / n;
    const Index inside = value.size() / images / n;
    for (Index i = 0; i < value.size(); ++i) {
      const double bias = operands.bias.at(i / inside % n);
      value[i] += bias;
      magnitude[i] += std::fabs(bias);
    }
  }
  double divisor = 1;
  if (problem.params.op == "mean") divisor = static_cast<double>(a.size());
  EigenResult r;
  r.value.resize(outputs);
  r.bound.resize(outputs);
  // Any order of n rounded products and sums, and a bias: (n + 1) u S, u = 2^-53; a division, and the
  // computed S's own error, take less than the factor 1.01 and the two terms added. Products of fp64 data may
  // underflow: 2^-1074 each.
  const double terms = most_terms(problem) + 4;
  for (std::size_t i = 0; i < outputs; ++i) {
    const auto at = static_cast<Index>(i);
    r.value[i] = value[at] / divisor;
    r.bound[i] = (terms * 0x1p-53 * 1.01 * magnitude[at] + terms * 0x1p-1074) / divisor;
  }
  return r;
}

}  // namespace ulpscope
