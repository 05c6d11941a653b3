#pragma once
// Test support: a question to explain() from a case's text, and results made by replaying plans.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

#include "harness/explain/explain.hpp"
#include "harness/inputs.hpp"
#include "reference/plan.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope::testing {

struct Question {
  Inputs inputs;
  ExplainRequest r;

  explicit Question(const std::string& text, double atol = 1e-4, double rtol = 1e-4) {
    const Case test = parse_case(text);
    inputs = make_inputs(test);
    ask(test.problem, atol, rtol);
  }
  Question(const Problem& problem, Tensor a, Tensor b, double atol = 1e-4, double rtol = 1e-4) {
    inputs.a = std::move(a);
    inputs.b = std::move(b);
    ask(problem, atol, rtol);
  }
  Question(const Question&) = delete;  // the request points into the inputs

  /// What `plan` makes of the inputs, or of another weight.
  Tensor made(const std::string& plan, const Tensor* weight = nullptr) const {
    const auto p = parse_plan(plan);
    Operands operands = inputs.operands();
    if (weight) operands.b = weight->view();
    Tensor y = make_tensor(output_format(*p), r.contraction.out_shape);
    const std::int64_t n = y.size();
    if (y.dtype == DType::f32) {
      replay(*p, r.contraction, operands, 0, n, y.as<std::uint32_t>());
    } else {
      std::vector<std::uint32_t> bits(static_cast<std::size_t>(n));
      replay(*p, r.contraction, operands, 0, n, bits.data());
      for (std::int64_t i = 0; i < n; ++i)
        y.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(bits[static_cast<std::size_t>(i)]);
    }
    return y;
  }

  Explanation why(Tensor candidate) {
    r.candidates.clear();
    r.candidates.push_back({"candidate", std::move(candidate)});
    return explain(r);
  }
  Explanation why(Tensor candidate, Tensor reference) {
    r.reference = Dump{"reference", std::move(reference)};
    return why(std::move(candidate));
  }

 private:
  void ask(const Problem& problem, double atol, double rtol) {
    r.problem = problem;
    r.contraction = lower(problem);
    r.operands = inputs.operands();
    r.tolerance = {atol, rtol};
    r.tolerance_given = true;
    r.seconds = 3;
    r.threads = 2;
  }
};

inline Tensor copy_of(const Tensor& t) {
  Tensor r = make_tensor(t.dtype, t.shape);
  std::memcpy(r.data.get(), t.data.get(), t.view().bytes());
  return r;
}

inline Tensor floats(const Shape& shape, std::initializer_list<float> values) {
  Tensor t = make_tensor(DType::f32, shape);
  std::copy(values.begin(), values.end(), t.as<float>());
  return t;
}

}  // namespace ulpscope::testing
