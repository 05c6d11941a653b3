#include "harness/probe/device_check.hpp"

#include <nlohmann/json.hpp>

#include "harness/probe/step_probe.hpp"

namespace ulpscope {

void note_device_arithmetic(nlohmann::json& environment) {
  const DeviceArithmetic& device = device_arithmetic();
  environment["arithmetic_agrees"] = device.agrees ? nlohmann::json(*device.agrees) : nlohmann::json();
  environment["arithmetic_reason"] = device.why.empty() ? nlohmann::json() : nlohmann::json(device.why);
}

std::string disagreement_in(const nlohmann::json& environment) {
  if (!environment.is_object() || environment.value("arithmetic_agrees", nlohmann::json()) != false)
    return "";
  const nlohmann::json reason = environment.value("arithmetic_reason", nlohmann::json());
  return reason.is_string() ? reason.get<std::string>() : "it disagrees with the table";
}

Judgement judge_on_device(const Evidence& evidence, const std::string& disagreement) {
  Judgement judgement = judge(evidence);
  if (disagreement.empty() || judgement.verdict != Verdict::explained) return judgement;
  Evidence without = evidence;
  without.replay.reset();
  judgement = judge(without);
  judgement.reason += "; its plan gives the same bits, but this device's arithmetic is not the table's (" +
                      disagreement + "): nothing on it is called explained";
  return judgement;
}

}  // namespace ulpscope
