#pragma once
// Trust in the tool itself: mistakes are planted in data, or in a function that production code calls, and
// each must be noticed. Controls have nothing planted and must stay quiet.
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ulpscope::selftest {

struct Plant {
  std::string area;     // "comparator", "reference", "replay", "judge", "gate", "reader", "renderer", "merge"
  std::string mistake;  // in words
  /// Runs production code on the mistake; what noticed it, or "" if nothing did.
  std::function<std::string()> noticed;
  bool control = false;  // nothing is planted: being noticed is the failure
};

struct Outcome {
  std::string area, mistake, by;  // by: what noticed it
  bool control = false, good = false;
};

// One file each.
std::vector<Plant> comparator_plants();
std::vector<Plant> reference_plants();
std::vector<Plant> replay_plants();
std::vector<Plant> judge_plants();
std::vector<Plant> gate_plants();
std::vector<Plant> file_plants();
std::vector<Plant> renderer_plants();

std::vector<Plant> all_plants();

/// An exception out of `noticed` is no notice: the outcome is bad and says so.
std::vector<Outcome> run_plants(const std::vector<Plant>& plants);

std::string render_outcomes(const std::vector<Outcome>& outcomes);
nlohmann::json to_json(const std::vector<Outcome>& outcomes);  // schema "ulpscope.self-test/1"

}  // namespace ulpscope::selftest
