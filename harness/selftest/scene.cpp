#include "harness/selftest/scene.hpp"

#include <bit>

#include "reference/exact.hpp"

namespace ulpscope::selftest {

Scene::Scene(const std::string& text) : test(parse_case(text)), c(lower(test.problem)) {
  test.name = "self-test";
  inputs = make_inputs(test, 1);
  bound = bound_of_mode(Mode::fp32, test.in, test.out, c, inputs.operands(), 1);
  const auto n = static_cast<std::size_t>(c.outputs());
  value.resize(n);
  magnitude.resize(n);
  rounded.resize(n);
  exact(c, inputs.operands(), {test.out, 1}, 0, c.outputs(),
        {value.data(), magnitude.data(), rounded.data()});
  for (const std::uint32_t bits : rounded) outputs.push_back(std::bit_cast<float>(bits));
}

const Scene& plain_scene() {
  static const Scene scene("gemm 24x40 * 40x20 a=normal(0,1) b=normal(0,1) seed=11");
  return scene;
}

Measurement compare(const Scene& s, const std::vector<float>& candidate, Tolerance tolerance) {
  return measure(s.c, {DType::f32, s.bound, tolerance, 0}, 0, static_cast<std::int64_t>(candidate.size()),
                 candidate.data(), s.value.data(), s.magnitude.data(), s.rounded.data(), 1);
}

Evidence evidence_of(const Scene& s, const std::vector<float>& candidate) {
  Evidence e;
  e.outputs = s.c.outputs();
  e.measured = compare(s, candidate, {});
  e.bound_formula = s.bound.formula;
  e.effective_mode = "fp32";
  return e;
}

}  // namespace ulpscope::selftest
