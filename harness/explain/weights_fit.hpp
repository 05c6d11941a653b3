#pragma once
// Which weights would give this result? Every output of a channel is one linear equation in that channel's
// weights; with enough positions they follow, and are compared with the ones given.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ulpscope {

struct Suspect;

struct WeightsFit {
  std::string name, what, evidence;
  bool all_differ = false;  // nearly every weight
  bool rounded = false;     // the ones given are the ones used, in a shorter format
};

/// Too few equations to solve: whether what the outputs leave over is, output by output and in its mean
/// square, what weights leave that were rounded to the ones given (a module converted in place before the
/// dump).
std::optional<WeightsFit> rounded_by_residuals(const Suspect& s);

/// Empty if there are too few equations, or no weights account for the outputs.
std::optional<WeightsFit> fit_weights(const Suspect& s, const std::vector<std::int64_t>& bad);

}  // namespace ulpscope
