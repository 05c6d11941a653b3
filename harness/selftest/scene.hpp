#pragma once
// What plants share: a small case with its inputs, true values and correctly rounded outputs.
#include <optional>
#include <string>
#include <vector>

#include "harness/bound.hpp"
#include "harness/inputs.hpp"
#include "harness/judge.hpp"

namespace ulpscope::selftest {

struct Scene {
  Case test;
  Contraction c;
  Inputs inputs;
  OutputBound bound;  // of fp32 sums in any order
  std::vector<double> value, magnitude;
  std::vector<std::uint32_t> rounded;
  std::vector<float> outputs;  // correctly rounded

  explicit Scene(const std::string& text);
  std::size_t size() const { return outputs.size(); }
};

/// A gemm of normal inputs, 24x40 times 40x20, shared.
const Scene& plain_scene();

/// The production comparator; a mutant is another function of this type.
using Comparator = std::function<Measurement(const Scene&, const std::vector<float>&, Tolerance)>;
Measurement compare(const Scene& s, const std::vector<float>& candidate, Tolerance tolerance);

/// Evidence of two equal runs with this output.
Evidence evidence_of(const Scene& s, const std::vector<float>& candidate);

}  // namespace ulpscope::selftest
