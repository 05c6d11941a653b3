#include "reference/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/plan/program.hpp"
#include "reference/testing/random_plan.hpp"

namespace ulpscope {
namespace {

using ::testing::HasSubstr;

std::string again(const std::string& text) {
  return to_string(*parse_plan(text));
}

std::string error_of(const std::string& text) {
  try {
    parse_plan(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(PlanText, CanonicalTextStaysAsItIs) {
  for (const char* text : {
           "fp32 | fma",
           "fp32 | fma | order c kw",
           "tf32_rna | block 8 frac 25 rz | order c/16 kw c",
           "fp32 | fma | order k | split 16 align 8 seq",
           "fp32 | fma fp64",
           "fp32 | mul_add fp32 fp64",
           "fp64 | fma fp64 | order k",
           "fp16 | mul_add fp16",
           "fp32 | kahan | order k",
           "fp32 | kahan_fma | order reversed",
           "a tf32_rne b fp32 | fma",
           "tf32_rna passes lo*hi hi*lo hi*hi | block 8 frac 25 rz | order k/8 pass k",
           "bf16 passes hi*hi hi*mid mid*hi lo*hi | fma",
           "fp8_e4m3 | block 32 frac 13 rz keep 13",
           "fp16 | block 16 frac 25 rne floor -24 acc fp16 | out fp16",
           "fp32 | fma | order c/32r kh -kw c reversed",
           "fp32 | fma | order shuffle 7",
           "fp32 | fma | order tree ((0 1) (2 3))",
           "fp32 | fma | lanes 32 every 4 butterfly | chunks 16 tree in fp64 as bf16",
           "fp32 | fma | order c kw | split 4 of c seq",
           "fp32 | fma | split 4 align 32 balanced reverse",
           "fp32 | fma | split 4 unordered",
           "fp32 | fma | lanes 8 every 484 butterfly | lanes 32 restart 484 butterfly",
           "fp32 | fma | alpha 0.5 | beta 2",
           "tf32_rne | block 8 frac 25 rz | chunks 28 seq | residue 16",
           "fp32 | fma | bias first | mean reciprocal | out bf16",
       })
    EXPECT_EQ(again(text), text);
}

TEST(PlanText, OtherWordingsOfTheSame) {
  EXPECT_EQ(again("fp32|fma|split 16"), "fp32 | fma | split 16 seq");
  EXPECT_EQ(again("  fp32 |  fma fp32 | pairwise | bias last | mean divide | out fp32 "),
            "fp32 | fma | chunks 1 tree");
  EXPECT_EQ(again("a bf16 b bf16 | mul_add fp32 fp32"), "bf16 | mul_add");
}

TEST(PlanText, ErrorsPointAtTheWord) {
  EXPECT_THAT(error_of("fp32 | fmaa"), HasSubstr("column 8, 'fmaa': no arithmetic: use fma"));
  EXPECT_THAT(error_of("tf32 | fma"), HasSubstr("column 1, 'tf32': no operand format"));
  EXPECT_THAT(error_of("fp32"), HasSubstr("column 5: after the operands comes the arithmetic"));
  EXPECT_THAT(error_of("fp32 | fma | order c/0 c"), HasSubstr("column 20, 'c/0': a chunk is a positive"));
  EXPECT_THAT(error_of("fp32 | fma | split 4 seq seq"), HasSubstr("column 26, 'seq': not expected here"));
  EXPECT_THAT(error_of("fp32 | fma | order k | order k"), HasSubstr("column 24, 'order': said twice"));
  EXPECT_THAT(error_of("fp64 | fma"), HasSubstr("fp64 operands need fp64 arithmetic"));
  EXPECT_THAT(error_of("fp32 | block 8 frac 99 rz"),
              HasSubstr("'99': the fractional bits must lie between 1 and 60"));
  EXPECT_THAT(error_of("fp32 | fma | split 99999999999999999999"), HasSubstr("whole number"));
  EXPECT_THAT(error_of("fp32 | fma | order tree ((0 1) 2"), HasSubstr("column 33"));
  EXPECT_THAT(error_of("fp32 | fma | out fp64"), HasSubstr("an output is fp32, bf16 or fp16"));
  EXPECT_THAT(error_of("tf32_rna passes hi | fma"), HasSubstr("'hi': a pass is two of"));
  for (const char* text :
       {"", "|", "||", "fp32 | fma | ", "fp32 | fma | order", "fp32 | fma | order tree", "a fp32 | fma",
        "fp32 | fma | order tree (0)", "fp32 | block", "fp32 | fma | alpha nan", "fp32 | fma | \x01"})
    EXPECT_NE(error_of(text), "no error") << text;
  EXPECT_EQ(error_of(std::string(100000, '(')).find('\n'), std::string::npos);
  EXPECT_NE(error_of("fp32 | fma | order tree " + std::string(100000, '(')), "no error");
}

TEST(PlanText, RandomPlansSurviveARoundTrip) {
  testing::RandomPlans random(11);
  for (int i = 0; i < 3000; ++i) {
    const Plan plan = random({{"c", 1 + random.below(40)}, {"kh", 3}, {"kw", 1 + random.below(5)}});
    const std::string text = to_string(plan);
    ASSERT_EQ(*parse_plan(text), plan) << text;
    ASSERT_EQ(again(text), text);
  }
}

// Damaged text either parses to something that prints and parses back, or is refused; it never crashes.
TEST(PlanText, DamagedTextIsRefusedOrMeansSomething) {
  testing::RandomPlans random(12);
  const std::string letters = " |()/-0123456789abcdefghiklmnorstuxyz_*.";
  for (int i = 0; i < 20000; ++i) {
    std::string text = to_string(random({{"c", 16}, {"kw", 5}}));
    for (std::int64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(text.size())));
      if (random.one_in(3))
        text.erase(at, 1);
      else
        text[at] = letters[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(letters.size())))];
    }
    try {
      const auto plan = parse_plan(text);
      ASSERT_EQ(*parse_plan(to_string(*plan)), *plan) << text;
    } catch (const Error&) {
    }
  }
}

// ---- layout and programs

std::vector<std::int64_t> places(const std::string& text, const std::vector<NamedExtent>& axes) {
  const auto plan = parse_plan(text);
  return lay_out(plan->order, axes, plan->operands.pass_count()).slot;
}

TEST(PlanOrder, NestsReadOutermostFirst) {
  const std::vector<NamedExtent> axes{{"c", 5}, {"kw", 2}};
  using V = std::vector<std::int64_t>;
  EXPECT_EQ(places("fp32 | fma", axes), (V{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(places("fp32 | fma | order kw c", axes), (V{0, 2, 4, 6, 8, 1, 3, 5, 7, 9}));
  EXPECT_EQ(places("fp32 | fma | order c/2 kw c", axes), (V{0, 2, 1, 3, 4, 6, 5, 7, 8, -1, 9, -1}));
  EXPECT_EQ(places("fp32 | fma | order c/2r kw c", axes), (V{0, -1, 1, -1, 2, 4, 3, 5, 6, 8, 7, 9}));
  EXPECT_EQ(places("fp32 | fma | order -c kw", axes), (V{8, 9, 6, 7, 4, 5, 2, 3, 0, 1}));
  EXPECT_EQ(places("fp32 | fma | order c kw reversed", axes), (V{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(places("fp32 | fma | order c/4 c/2 kw c", axes),
            (V{0, 2, 1, 3, 4, 6, 5, 7, 8, -1, 9, -1, -1, -1, -1, -1}));
  EXPECT_EQ(places("tf32_rna passes lo*hi hi*hi | fma | order k/2 pass k", {{"k", 4}}),
            (V{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(places("tf32_rna passes lo*hi hi*hi | fma | order k", {{"k", 2}}), (V{0, 1, 2, 3}));
}

TEST(PlanOrder, UnfitOrdersAreRefused) {
  const std::vector<NamedExtent> axes{{"c", 5}, {"kw", 2}};
  for (const char* text : {"fp32 | fma | order c", "fp32 | fma | order c kh kw", "fp32 | fma | order c/2 kw",
                           "fp32 | fma | order c kw c"})
    EXPECT_THROW(places(text, axes), Error) << text;
  const auto by = parse_plan("fp32 | fma | order kw c | split 2 of c");
  EXPECT_THROW(compile(*by, axes), Error);
  EXPECT_THROW(compile(*parse_plan("fp32 | fma | order tree (0 1)"), axes), Error);
  EXPECT_THROW(compile(*parse_plan("fp32 | fma | order tree (0 1 2)"), {{"k", 3}}), Error);
  EXPECT_THROW(compile(*parse_plan("fp32 | fma | order tree (0 0)"), {{"k", 2}}), Error);
}

TEST(PlanProgram, InterleavedStepsTakeRunsInTurn) {
  const Program p = compile(*parse_plan("tf32_rna | block 4 frac 25 rz | interleave 2 every 2"), {{"k", 14}});
  const std::vector<std::int64_t> expected{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, -1, -1};
  EXPECT_EQ(p.places, expected);
  EXPECT_THROW(parse_plan("fp32 | fma | interleave 2"), Error);
  EXPECT_THROW(parse_plan("bf16 | block 8 frac 25 rz | interleave 2 every 3"), Error);
}

TEST(PlanProgram, ResidueComesFirstInEverySlice) {
  const Program p =
      compile(*parse_plan("tf32_rne | block 4 frac 25 rz | chunks 10 | residue 8"), {{"k", 18}});
  // Slices of 10 and 8: the first takes 10 mod 8 = 2 places by themselves, the second has none left over.
  const std::vector<std::int64_t> expected{0, 1, -1, -1, 2,  3,  4,  5,  6,  7,
                                           8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  EXPECT_EQ(p.places, expected);
  EXPECT_THROW(parse_plan("fp32 | fma | residue 8"), Error);
}

TEST(PlanProgram, ShuffleOfSlicesCountsIdleLanes) {
  const std::vector<NamedExtent> axes{{"k", 6}};
  auto program = [&](const char* text) { return compile(*parse_plan(text), axes); };
  // Slices of 2: {0,1} {2,3} {4,5} and an idle fourth: (s0 + s2) + (s1 + 0), not (s0 + s2) + s1 cut at
  // ceil(3/2).
  EXPECT_FALSE(program("fp32 | fma | split 4 butterfly") == program("fp32 | fma | split 3 butterfly"));
  EXPECT_EQ(program("fp32 | fma | split 4 seq"), program("fp32 | fma | split 3 seq"));
}

// Equal programs are how the search knows that two texts mean the same.
TEST(PlanProgram, DifferentTextsOfOnePlan) {
  const std::vector<NamedExtent> axes{{"k", 64}};
  auto program = [&](const char* text) { return compile(*parse_plan(text), axes); };
  EXPECT_EQ(program("fp32 | fma | split 4"), program("fp32 | fma | chunks 16"));
  EXPECT_EQ(program("fp32 | fma | split 3 align 16"), program("fp32 | fma | chunks 32"));
  EXPECT_EQ(program("fp32 | fma | order k/8 k"), program("fp32 | fma"));
  EXPECT_FALSE(program("fp32 | fma | split 4") == program("fp32 | fma | split 4 tree"));
  EXPECT_EQ(program("fp32 | fma | split 2 tree"), program("fp32 | fma | split 2 butterfly"));
  EXPECT_EQ(compile(*parse_plan("fp32 | fma | order tree (((0 1) 2) 3)"), {{"k", 4}}),
            compile(*parse_plan("fp32 | fma"), {{"k", 4}}));
}

}  // namespace
}  // namespace ulpscope
