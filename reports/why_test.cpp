// What the page says of two results of one case, from their record alone.
#include "reports/why.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.hpp"
#include "reports/testing.hpp"

namespace ulpscope {
namespace {

using namespace testing_reports;
using nlohmann::json;
using ::testing::HasSubstr;

Whys whys(const json& record) {
  return whys_of(parse_record_view(record.dump(), "r.json"));
}

json other(const json& why, const std::string& name) {
  for (const json& o : why.at("others"))
    if (o["name"] == name) return o;
  return {};
}

TEST(Whys, ComparesResultsOfACase) {
  const Whys w = whys(json::parse(explained_record()));
  ASSERT_EQ(w.results.size(), 3u);
  const json &kernel = w.results[0], &library = w.results[1];
  EXPECT_EQ(kernel["cause"], "accumulator");
  EXPECT_EQ(kernel["same"], json::array({"twin (fp32)"}));
  const json o = other(kernel, "library (fp32)");
  EXPECT_EQ(o["cause"], "reference_precision");
  EXPECT_EQ(o["max_abs"], 0x1p-12);
  EXPECT_EQ(o["mean_abs"], 0x1p-12 / 3);
  EXPECT_EQ(o["equal"], 2.0 / 3);
  EXPECT_EQ(o["violations"], 0);                             // 2^-12 lies within 1e-4 + 1e-4 * 2
  EXPECT_TRUE(other(kernel, "twin (fp32)").is_null());       // said once: the same bits
  EXPECT_EQ(kernel["others"][0]["name"], "library (fp32)");  // declares no plan: first
  EXPECT_EQ(other(library, "kernel (fp32)")["cause"], "candidate_precision");
  EXPECT_EQ(kernel["with"], "library (fp32)");
  const json& tree = w.trees.at(kernel["tree"].get<std::size_t>());
  EXPECT_THAT(tree["candidate"].get<std::string>(), HasSubstr("one after another"));
  EXPECT_THAT(tree["reference"].get<std::string>(), HasSubstr("{k0, k1"));
  EXPECT_EQ(w.results[2]["tree"], kernel["tree"]);  // the same two plans are drawn once
}

// A record without explanations still has plans and hashes.
TEST(Whys, OfAnOlderRecord) {
  json record = json::parse(explained_record());
  for (json& r : record["results"]) r.erase("explanation");
  const Whys w = whys(record);
  EXPECT_EQ(w.results[0]["same"], json::array({"twin (fp32)"}));
  const json o = other(w.results[0], "library (fp32)");
  EXPECT_EQ(o["cause"], "reference_precision");
  EXPECT_TRUE(o["max_abs"].is_null());
}

TEST(Whys, OtherInputsAndPlacesAreNotCompared) {
  json record = json::parse(explained_record());
  record["results"][1]["input_hash"] = std::string(32, 'c');
  record["results"][2]["explanation"]["ranges"] = {{0, 3}};
  record["results"][2]["output_hash"] = std::string(32, 'd');
  const Whys w = whys(record);
  EXPECT_TRUE(other(w.results[0], "library (fp32)").is_null());
  EXPECT_TRUE(other(w.results[0], "twin (fp32)")["max_abs"].is_null());
}

TEST(Whys, RefusesWhatItCannotRead) {
  json record = json::parse(explained_record());
  record["results"][0]["explanation"]["bits"] = "xyz";
  EXPECT_THROW(whys(record), Error);
  record = json::parse(explained_record());
  record["results"][0]["plan"] = "a plan of tomorrow";
  record["results"][1]["case_text"] = "an operator of tomorrow";
  EXPECT_NO_THROW(whys(record));
}

}  // namespace
}  // namespace ulpscope
