#include "harness/selftest/selftest.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace ulpscope::selftest {
namespace {

TEST(SelfTest, EveryPlantedMistakeIsCaughtAndEveryControlIsQuiet) {
  const auto outcomes = run_plants(all_plants());
  std::set<std::string> areas, names;
  std::size_t planted = 0;
  for (const Outcome& o : outcomes) {
    EXPECT_TRUE(o.good) << o.area << ": " << o.mistake << ": " << o.by;
    areas.insert(o.area);
    EXPECT_TRUE(names.insert(o.area + o.mistake).second) << o.mistake;
    planted += !o.control;
  }
  EXPECT_GE(planted, 40u);
  for (const char* area :
       {"comparator", "reference", "replay", "judge", "gate", "merge", "reader", "renderer"})
    EXPECT_TRUE(areas.contains(area)) << area;
}

TEST(SelfTest, MissesAreToldApartFromCatches) {
  const auto outcomes =
      run_plants({{"x", "seen", [] { return std::string("it"); }},
                  {"x", "unseen", [] { return std::string(); }},
                  {"x", "quiet", [] { return std::string(); }, true},
                  {"x", "alarm", [] { return std::string("it"); }, true},
                  {"x", "thrown", []() -> std::string { throw std::runtime_error("no"); }}});
  std::vector<bool> good;
  for (const Outcome& o : outcomes) good.push_back(o.good);
  EXPECT_EQ(good, (std::vector<bool>{true, false, true, false, false}));
  const std::string text = render_outcomes(outcomes);
  EXPECT_NE(text.find("MISSED      x          unseen"), std::string::npos) << text;
  EXPECT_NE(text.find("FALSE ALARM x          alarm"), std::string::npos) << text;
  EXPECT_NE(text.find("1 of 3 planted mistakes caught, 1 of 2 controls quiet"), std::string::npos) << text;
  EXPECT_EQ(to_json(outcomes)["caught"], 1);
}

}  // namespace
}  // namespace ulpscope::selftest
