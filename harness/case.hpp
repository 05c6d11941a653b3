#pragma once
// A case: an operator on inputs that a counter-based generator makes, so that its text is the whole
// experiment.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/support/registry.hpp"
#include "reference/operators.hpp"

namespace ulpscope {

/// How one tensor is filled. `kind`: uniform, normal, default_weight (the frameworks' initialisation: uniform
/// +-1/sqrt(fan_in)), integers, condition, wide, subnormal, special, tf32, ones, zeros. Parameters mean what
/// cases/README.md says per kind.
struct Fill {
  std::string kind = "uniform";
  double lo = 0, hi = 1;        // uniform, integers, wide (exponents)
  double mean = 0, stddev = 1;  // normal
  double condition = 1e6;       // condition
  bool operator==(const Fill&) const = default;
};

struct Tolerance {
  double atol = 0, rtol = 0;
};

struct Case {
  std::string name;  // "conv2d_pointwise/full_uniform": unique over all files
  std::string file;  // where it was read
  Problem problem;
  DType in = DType::f32, out = DType::f32;
  Fill fill_a, fill_b, fill_bias;
  std::uint64_t seed = 0;
  std::optional<Tolerance> tolerance;  // what someone's checker uses: reported, no budget
  std::vector<std::string> variants;   // patterns; empty: all that support it
  std::vector<std::string> tags;       // "smoke", "full", ...
};

/// Reads every *.toml under a folder, or one file. Throws Error with file, line and the offending key (and a
/// suggestion).
std::vector<Case> load_cases(const std::string& path);

/// Selects by name, glob or tag; an empty selection is an Error that suggests near names.
std::vector<Case> select_cases(const std::vector<Case>& all, const std::vector<std::string>& patterns);

}  // namespace ulpscope
