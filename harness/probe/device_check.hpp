#pragma once
// What a record says of the device's arithmetic, and what that does to verdicts.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/judge.hpp"

namespace ulpscope {

/// Probes the tensor cores of this process's device (once) and adds to an environment: arithmetic_agrees
/// (true, false or null: nothing to compare) and arithmetic_reason.
void note_device_arithmetic(nlohmann::json& environment);

/// Where an environment says that its device disagrees with the table: how, in one line; else "".
std::string disagreement_in(const nlohmann::json& environment);

/// judge(), but where the device disagrees a plan that gives the bits explains nothing: the table that such
/// plans are taken from is wrong there. `explained` becomes what the evidence shows without the replay.
Judgement judge_on_device(const Evidence& evidence, const std::string& disagreement);

}  // namespace ulpscope
