#include "harness/selftest/selftest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ulpscope::selftest {

std::vector<Plant> all_plants() {
  std::vector<Plant> all;
  for (const auto& plants : {comparator_plants(), reference_plants(), replay_plants(), judge_plants(),
                             gate_plants(), file_plants(), renderer_plants()})
    all.insert(all.end(), plants.begin(), plants.end());
  return all;
}

std::vector<Outcome> run_plants(const std::vector<Plant>& plants) {
  std::vector<Outcome> outcomes;
  for (const Plant& p : plants) {
    Outcome o{p.area, p.mistake, "", p.control, false};
    try {
      o.by = p.noticed();
      o.good = o.by.empty() == p.control;
    } catch (const std::exception& e) {
      o.by = std::string("stopped by an exception: ") + e.what();
    }
    std::replace(o.by.begin(), o.by.end(), '\n', ' ');
    outcomes.push_back(std::move(o));
  }
  return outcomes;
}

namespace {

struct Counts {
  std::size_t planted = 0, caught = 0, controls = 0, quiet = 0;
};

Counts count(const std::vector<Outcome>& outcomes) {
  Counts c;
  for (const Outcome& o : outcomes) {
    (o.control ? c.controls : c.planted) += 1;
    (o.control ? c.quiet : c.caught) += o.good;
  }
  return c;
}

}  // namespace

std::string render_outcomes(const std::vector<Outcome>& outcomes) {
  std::string out;
  for (const Outcome& o : outcomes) {
    const char* word = o.control ? (o.good ? "quiet" : "FALSE ALARM") : (o.good ? "caught" : "MISSED");
    const std::string by = o.by.size() > 100 ? o.by.substr(0, 97) + "..." : o.by;
    out += fmt::format("{:<11} {:<10} {}{}{}\n", word, o.area, o.mistake, by.empty() ? "" : ": ", by);
  }
  const Counts c = count(outcomes);
  out += fmt::format("self-test: {} of {} planted mistakes caught, {} of {} controls quiet\n", c.caught,
                     c.planted, c.quiet, c.controls);
  return out;
}

nlohmann::json to_json(const std::vector<Outcome>& outcomes) {
  const Counts c = count(outcomes);
  nlohmann::json list = nlohmann::json::array();
  for (const Outcome& o : outcomes)
    list.push_back(
        {{"area", o.area}, {"mistake", o.mistake}, {"control", o.control}, {"good", o.good}, {"by", o.by}});
  return {{"schema", "ulpscope.self-test/1"}, {"planted", c.planted}, {"caught", c.caught},
          {"controls", c.controls},           {"quiet", c.quiet},     {"outcomes", list}};
}

}  // namespace ulpscope::selftest
