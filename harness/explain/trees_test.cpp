// Trees as a reader sees them.
#include "harness/explain/trees.hpp"
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/plan.hpp"

namespace ulpscope {
namespace {

using ::testing::HasSubstr;

const std::vector<NamedExtent> kAxes{{"c", 16}, {"kw", 5}};

std::string drawn(const std::string& plan, const std::vector<NamedExtent>& axes = kAxes) {
  return drawing_of(tree_of(*parse_plan(plan), axes), axes);
}

Explanation two_sides(const std::string& candidate, const std::string& reference) {
  Explanation e;
  e.candidate.plan = candidate;
  e.reference.emplace();
  if (!reference.empty()) e.reference->plan = reference;
  return e;
}

TEST(Trees, NamesTermsByTheirPlace) {
  EXPECT_EQ(term_name(7, kAxes, 1), "c1 kw2");
  EXPECT_EQ(term_name(7 * 3 + 2, kAxes, 3), "c1 kw2 pass 2");
  EXPECT_EQ(term_name(3, {{"k", 8}, {"one", 1}}, 1), "k3");
  EXPECT_EQ(term_name(0, {{"k", 1}}, 1), "the only term");
}

TEST(Trees, DrawsChainsBlocksAndJoins) {
  EXPECT_EQ(drawn("fp32 | fma"),
            "80 terms one after another: c0 kw0 + c0 kw1 + c0 kw2 + c0 kw3 + c0 kw4 + c1 kw0 + ... + c15 kw3 "
            "+ c15 kw4\n");
  EXPECT_EQ(drawn("tf32_rna | block 8 frac 25 rz | order c/8 kw c", {{"c", 16}, {"kw", 1}}),
            "2 block steps: {c0, c1, c2, c3, c4, c5, c6, c7} then {c8, c9, c10, c11, c12, c13, c14, c15}\n");
  EXPECT_EQ(drawn("fp32 | fma | split 4 seq", {{"k", 8}}),
            "4 partial sums, joined in turn\n"
            "  2 terms one after another: k0 + k1\n"
            "  2 terms one after another: k2 + k3\n"
            "  2 terms one after another: k4 + k5\n"
            "  2 terms one after another: k6 + k7\n");
  EXPECT_EQ(drawn("fp32 | fma | split 4 tree", {{"k", 8}}),
            "3 partial sums, joined in turn\n"
            "  2 terms one after another: k0 + k1\n"
            "  2 terms one after another: k2 + k3\n"
            "  2 partial sums, joined in turn\n"
            "    2 terms one after another: k4 + k5\n"
            "    2 terms one after another: k6 + k7\n");
}

TEST(Trees, AreCutWhenLong) {
  const std::string text = drawn("fp32 | fma | split 512 seq", {{"k", 4096}});
  EXPECT_THAT(text, HasSubstr("512 partial sums"));
  EXPECT_TRUE(text.ends_with("(and so on)\n"));
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
  EXPECT_LT(drawn("fp32 | fma | pairwise", {{"k", 4096}}).size(), 4000u);
}

TEST(Trees, SayWhereTheyPart) {
  const nlohmann::json parted = trees_of(two_sides("fp32 | fma", "fp32 | fma | order kw c"), kAxes);
  EXPECT_FALSE(parted["same"].get<bool>());
  EXPECT_EQ(parted["difference"],
            "2 partial sums are formed by both. The smallest that only the candidate forms: c0 kw0 + c0 kw1. "
            "The smallest that only the reference forms: c0 kw0 + c1 kw0.");
  const nlohmann::json same = trees_of(two_sides("fp32 | fma", "tf32_rna | fma"), kAxes);
  EXPECT_TRUE(same["same"].get<bool>());
  EXPECT_EQ(same["candidate"], same["reference"]);
  const nlohmann::json one = trees_of(two_sides("fp32 | fma", ""), kAxes);
  EXPECT_TRUE(one["reference"].is_null());
  EXPECT_TRUE(one["same"].is_null());
  EXPECT_TRUE(trees_of(two_sides("fp32 | fma", ""), {{"k", 1 << 20}}).is_null());
}

}  // namespace
}  // namespace ulpscope
