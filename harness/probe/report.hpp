#pragma once
// A probe's report: schema "ulpscope.probe/1" and the text that people read.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/probe/step_probe.hpp"
#include "harness/probe/variant_probe.hpp"

namespace ulpscope {

struct ProbeReport {
  nlohmann::json environment;
  std::string device;               // one line; "" without one
  std::vector<StepFindings> steps;  // of the device's tensor cores
  std::optional<bool> agrees;       // with the table, all of them
  std::string why;                  // where it disagrees, or why nothing is known
  std::vector<ProbedVariant> targets;
  bool compare_declared = false;
};

/// {schema, environment, arithmetic_agrees, arithmetic_reason, instructions, targets}.
nlohmann::json to_json(const ProbeReport& report);

/// A table of instructions, then every target with its plan below it.
std::string render_probe(const ProbeReport& report);

/// 2 if a target failed; else 1 if a declared plan is not what was probed (with compare_declared) or the
/// device disagrees with the table; else 3 if nothing was probed; else 0.
int exit_code_of(const ProbeReport& report);

}  // namespace ulpscope
