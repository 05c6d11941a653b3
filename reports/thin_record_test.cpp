#include "reports/thin_record.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/testing.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;

json emptied(json record) {
  record["cases"] = nullptr;
  for (json& r : record["results"]) r["explanation"] = nullptr;
  return record;
}

TEST(ThinRecord, LosesExplanationsAndNothingElse) {
  json record = json::parse(testing_reports::explained_record());
  record["results"][0]["explanation"]["ladder"][0]["note"] = "braces } ] in \"text\" \\";
  record["results"][1]["reason"] = R"(it says "explanation": {"a": 1} \)";
  record["results"][2]["notes"] = {"cases", "explanation", ":"};
  for (const int indent : {-1, 1, 4})
    EXPECT_EQ(json::parse(without_explanations(record.dump(indent))), emptied(record)) << indent;
  const json plain = json::parse(testing_reports::nasty_record());
  EXPECT_EQ(without_explanations(plain.dump()), plain.dump());
}

TEST(ThinRecord, WhatIsCutOffStaysUnreadable) {
  const std::string whole = testing_reports::explained_record();
  for (std::size_t n = 1; n < whole.size(); n += 13)
    EXPECT_TRUE(json::parse(without_explanations(whole.substr(0, n)), nullptr, false).is_discarded()) << n;
}

}  // namespace
}  // namespace ulpscope
