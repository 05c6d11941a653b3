#include "reference/tree/tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.hpp"
#include "reference/operators.hpp"
#include "reference/plan.hpp"
#include "reference/testing/random_plan.hpp"

namespace ulpscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SummationTree tree(const std::string& plan, std::int64_t n) {
  return tree_of(*parse_plan(plan), {{"k", n}});
}

TEST(Tree, TextOfKnownPlans) {
  EXPECT_EQ(to_text(tree("fp32 | fma", 4)), "(((0 1) 2) 3)");
  EXPECT_EQ(to_text(tree("fp32 | fma | order k reversed", 3)), "((2 1) 0)");
  EXPECT_EQ(to_text(tree("fp32 | fma | pairwise", 5)), "(((0 1) (2 3)) 4)");
  EXPECT_EQ(to_text(tree("fp32 | fma | chunks 1 recursive", 5)), "((0 1) (2 (3 4)))");
  EXPECT_EQ(to_text(tree("fp32 | fma | lanes 4 butterfly", 8)), "(((0 4) (2 6)) ((1 5) (3 7)))");
  EXPECT_EQ(to_text(tree("fp32 | fma | lanes 3 butterfly", 3)), "((0 2) 1)");
  EXPECT_EQ(to_text(tree("fp32 | fma | lanes 2 every 2", 8)), "((((0 1) 4) 5) (((2 3) 6) 7))");
  EXPECT_EQ(to_text(tree("fp32 | fma | lanes 2 restart 3", 6)), "((((0 2) 3) 5) (1 4))");
  EXPECT_EQ(to_text(tree("fp32 | fma | split 3 reverse", 6)), "(((4 5) (2 3)) (0 1))");
  EXPECT_EQ(to_text(tree("fp32 | fma | split 4 align 2 balanced", 10)),
            "((((((0 1) 2) 3) (4 5)) (6 7)) (8 9))");
  EXPECT_EQ(to_text(tree("bf16 | block 4 frac 25 rz", 10)), "(((0 1 2 3) 4 5 6 7) 8 9)");
  EXPECT_EQ(to_text(tree("fp32 | fma", 1)), "0");
  EXPECT_EQ(to_text(tree("fp32 | fma", 0)), "");
}

TEST(Tree, TextParsesBackToTheSameTree) {
  testing::RandomPlans random(3);
  for (int i = 0; i < 300; ++i) {
    Plan plan = random({{"k", 2 + random.below(40)}});
    if (plan.operands.pass_count() > 1 || plan.arithmetic.step == Step::kahan ||
        plan.arithmetic.step == Step::kahan_fma)
      continue;
    const std::vector<NamedExtent> axes{{"k", 2 + random.below(40)}};
    plan.order = {};
    const SummationTree t = tree_of(plan, axes);
    Plan explicit_plan;
    explicit_plan.arithmetic = plan.arithmetic;
    explicit_plan.operands = plan.operands;
    explicit_plan = *parse_plan(to_string(explicit_plan) + " | order tree " + to_text(t));
    const TreeDifference d = compare(t, tree_of(explicit_plan, axes));
    ASSERT_TRUE(d.same) << d.text << "\n" << to_string(plan);
    ASSERT_EQ(t.leaves(), axes[0].size);
  }
}

TEST(Tree, MissingTapsAreNoLeaves) {
  Problem problem;
  problem.params.op = "conv1d";
  problem.params.padding[0] = 1;
  problem.a = {1, 2, 4};
  problem.b = {1, 2, 3};
  const Contraction c = lower(problem);
  const auto plan = parse_plan("fp32 | fma | order c kw");
  EXPECT_EQ(to_text(tree_of(*plan, c, 0)), "(((1 2) 4) 5)");
  EXPECT_EQ(to_text(tree_of(*plan, c, 1)), "(((((0 1) 2) 3) 4) 5)");
}

TEST(Tree, JsonAndGraphviz) {
  const SummationTree t = tree("fp32 | fma | split 2", 4);
  EXPECT_EQ(to_json(t), R"({"leaves":4,"tree":[[0,1],[2,3]]})");
  EXPECT_EQ(to_json({}), R"({"leaves":0,"tree":[]})");
  const std::vector<std::string> names{"c0", "a\"b"};
  const std::string dot = to_dot(t, names);
  EXPECT_THAT(dot, HasSubstr("label=\"c0\""));
  EXPECT_THAT(dot, HasSubstr("label=\"a\\\"b\""));
  EXPECT_THAT(dot, HasSubstr("n5 -> n6;"));
}

std::vector<int> counts(const std::string& plan, std::int64_t n) {
  const auto p = parse_plan(plan);
  return rounding_counts(tree_of(*p, {{"k", n}}), p->arithmetic);
}

TEST(Tree, RoundingsPerLeaf) {
  EXPECT_THAT(counts("fp32 | fma", 4), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(counts("fp32 | mul_add", 4), ElementsAre(4, 4, 3, 2));
  EXPECT_THAT(counts("fp32 | fma | pairwise", 4), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(counts("fp32 | fma | split 2", 4), ElementsAre(3, 2, 3, 2));
  EXPECT_THAT(counts("fp32 | fma", 1), ElementsAre(1));
  EXPECT_THAT(counts("bf16 | block 2 frac 25 rz", 5), ElementsAre(3, 3, 2, 2, 1));
}

TEST(Tree, BoundByLeaves) {
  const auto bound = [](const char* text, std::vector<double> magnitude) {
    const auto p = parse_plan(text);
    return bound_from(tree_of(*p, {{"k", std::ssize(magnitude)}}), p->arithmetic, magnitude);
  };
  const double u = 0x1p-24;
  EXPECT_NEAR(bound("fp32 | fma", {1, 0, 0, 0}), 4 * u, 1e-5 * u);
  EXPECT_NEAR(bound("fp32 | fma", {0, 0, 0, 1}), 1 * u, 1e-5 * u);
  EXPECT_NEAR(bound("fp32 | fma | pairwise", {1, 2, 3, 4}), 30 * u, 1e-4 * u);
  EXPECT_GE(bound("fp32 | fma", {1, 1}), 3 * u);
  EXPECT_THROW(bound("bf16 | block 8 frac 25 rz", {1, 1}), Error);
}

TEST(TreeCompare, SaysWhereTwoOrdersPart) {
  EXPECT_TRUE(compare(tree("fp32 | fma | split 4", 16), tree("fp32 | fma | chunks 4", 16)).same);
  // The order of children is no difference: (0 1) and (1 0) round alike.
  EXPECT_TRUE(compare(tree("fp32 | fma", 2), tree("fp32 | fma | order k reversed", 2)).same);
  const TreeDifference d = compare(tree("fp32 | fma", 8), tree("fp32 | fma | split 2", 8));
  EXPECT_FALSE(d.same);
  EXPECT_EQ(d.shared, 4);  // {0 1}, {0 1 2}, {0 1 2 3} and everything
  EXPECT_THAT(d.first, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(d.second, ElementsAre(4, 5));
  EXPECT_THAT(d.text, HasSubstr("only the second sums {4 5} by itself"));
  EXPECT_FALSE(compare(tree("fp32 | fma", 8), tree("fp32 | fma", 9)).same);
  EXPECT_FALSE(compare(tree("bf16 | block 4 frac 25 rz", 8), tree("bf16 | fma", 8)).same);
}

}  // namespace
}  // namespace ulpscope
