#pragma once
// Structural mistakes, named with their evidence: a changed index map or changed data reproduces the result.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/explain/mutants.hpp"
#include "harness/explain/region.hpp"
#include "reference/exact.hpp"

namespace ulpscope {

struct Mistake {
  std::string name;           // "flipped_taps", "lost_tail", "bad_channel", ...
  std::string what;           // in words
  std::string evidence;       // figures
  Region region;              // where
  bool other_inputs = false;  // other weights than the ones given, whole
  bool fitted = false;        // weights were solved for from the outputs: other than those a run has given
  bool reproduced = false;    // the mutant gives the outputs, within roundings
  double max_residual = 0;    // of the mutant, over the outputs checked
};

/// What is known of a result when mistakes are looked for.
struct Suspect {
  const Contraction* c = nullptr;
  const Problem* problem = nullptr;
  const Operands* operands = nullptr;
  std::vector<double> seen;                    // all outputs
  std::vector<double> value;                   // true ones
  std::vector<double> magnitude;               // S
  std::vector<std::uint8_t> bad;               // outputs that no admissible rounding accounts for
  const std::vector<double>* stale = nullptr;  // another dump
  DType out = DType::f32;
};

/// What a sum of `terms` products, rounded to fp32 in any order and then to `out`, may be off by.
double admissible_error(std::int64_t terms, double magnitude, double value, DType out);

/// The first mistake that accounts for every bad output; else where they sit, if that is one place; else
/// none.
std::optional<Mistake> find_mistake(const Suspect& s);

}  // namespace ulpscope
