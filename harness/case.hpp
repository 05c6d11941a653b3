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
  double lo = 0, hi = 1;  // uniform, tf32, special: [lo, hi); integers: [lo, hi); wide: exponents lo..hi
  double mean = 0, stddev = 1;  // normal
  double condition = 1e6;       // condition
  double rate = 1.0 / 256;      // special: share of elements
  bool operator==(const Fill&) const = default;
};

/// The kinds, and a fill of one with its default parameters (throws Error with a suggestion).
const std::vector<std::string>& fill_kinds();
Fill default_fill(std::string_view kind);

/// "uniform(-1,1)", "default_weight": parses back to the same fill. Parameters are positional, in the order
/// above; numbers are exact.
std::string to_string(const Fill& fill);
Fill parse_fill(std::string_view text);

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

/// The printed identity, everything that determines the experiment in one line:
///   conv2d 2x3x9x9 * 4x3x3x3 s1 p1 d1 g1 bias in=fp32 out=fp32 a=uniform(0,1) b=default_weight seed=7
/// (operator and parameters as to_string(Problem) prints them; bias=..., atol=, rtol= where they apply).
std::string to_string(const Case& c);

/// The inverse, for command lines and files. What is left out takes its default: stride 1, padding 0, ...,
/// fp32, a=uniform(0,1), b=default_weight, bias=default_weight, and a seed derived from the problem. The name
/// is the text itself. Throws Error (one line) that names the word it cannot read.
Case parse_case(std::string_view text);

/// Throws Error if the problem's shapes do not fit together or the fills do not suit it.
void check_case(const Case& c);

/// The cases in a TOML text; `file` is what messages call it, `stem` the first part of the names.
std::vector<Case> parse_cases(std::string_view toml, const std::string& file, const std::string& stem);

/// Reads every *.toml under a folder (its `budgets` and `suites` apart), or one file. Throws Error with file,
/// line and the offending key (and a suggestion), also if two cases have one name.
std::vector<Case> load_cases(const std::string& path);

/// Selects by name, glob (* and ?), file ("conv2d_pointwise") or tag, in the order of `all`, each once. A
/// pattern with a space in it is a case's text (parse_case), appended. A pattern that selects nothing is an
/// Error that suggests near names.
std::vector<Case> select_cases(const std::vector<Case>& all, const std::vector<std::string>& patterns);

}  // namespace ulpscope
