#pragma once
// What would a tolerance let through? Mistakes are planted into the case's own data, output by output, and
// judged as the tolerance judges: |mistaken - true| <= atol + rtol*|true| for every output passes. A
// tolerance that accepts zeros, or that cannot see a lost term, is vacuous: passing it says nothing.
#include <cstdint>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "harness/statistics/element_source.hpp"
#include "reference/contraction.hpp"

namespace ulpscope {

struct PlantedMistake {
  std::string name;        // "zeros", "lost_term", ...
  std::string what;        // in words
  bool mistake = true;     // false: a legitimate loss of precision, tried for comparison
  bool detected = false;   // some looked-at output violates the tolerance
  double max_abs = 0;      // largest effect
  double share = 0;        // of the outputs that violate the tolerance
  std::int64_t tried = 1;  // places it was planted in (terms), each in all outputs at once
  std::int64_t seen = 0;   // of them, detected
};

struct Vacuity {
  Tolerance tolerance;
  std::int64_t outputs = 0, looked_at = 0;
  std::vector<PlantedMistake> tried;
  bool vacuous = false;
  std::string why;  // one sentence; of a tolerance that is not vacuous: what it does not see, or ""
};

struct VacuityOptions {
  std::int64_t max_terms = std::int64_t{1} << 22;
};

Vacuity try_tolerance(const Contraction& c, const ModelData& data, const Tolerance& tolerance,
                      const VacuityOptions& options = {});

}  // namespace ulpscope
