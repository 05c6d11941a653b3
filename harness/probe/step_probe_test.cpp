// The probe of a tensor-core instruction, on instructions whose arithmetic is known: the block step itself.
#include "harness/probe/step_probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/probe/step_rows.hpp"
#include "reference/arithmetic/architectures.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

using ::testing::HasSubstr;

/// An instruction that does `step`, mma_k / L times.
StepFunction emulated(const std::function<BlockStep(MmaKind)>& step) {
  return [step](MmaKind kind, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b,
                const std::vector<std::uint32_t>& c) {
    const StepBits bits{a, b, c};
    std::vector<std::uint32_t> d;
    for (std::int64_t row = 0; row < std::ssize(c); ++row)
      d.push_back(replay_row(kind, step(kind), bits, row));
    return d;
  };
}

BlockStep table_step(int sm, MmaKind kind) {
  return find_tensor_core(sm, operand_of(kind), accumulator_of(kind))->step;
}

TEST(StepProbe, FindsEveryRowOfTheTable) {
  for (const int sm : {80, 90, 100}) {
    const auto steps = probe_steps(sm, emulated([&](MmaKind kind) { return table_step(sm, kind); }));
    ASSERT_EQ(steps.size(), 4u);
    for (const StepFindings& s : steps) {
      SCOPED_TRACE(std::string(to_string(s.kind)) + " of sm " + std::to_string(sm));
      const BlockStep truth = table_step(sm, s.kind);
      EXPECT_EQ(s.error, "");
      EXPECT_EQ(s.step, truth);
      EXPECT_EQ(s.agrees, true) << s.difference;
      EXPECT_EQ(s.equal, s.tested);
      EXPECT_GT(s.tested, 1000);
      EXPECT_TRUE(s.chained && s.subnormal_operands && s.subnormal_results && s.subnormal_accumulators);
      EXPECT_EQ(s.rounding, truth.rounding == StepRounding::rz ? "rz" : "rne");
    }
    std::string why;
    EXPECT_EQ(arithmetic_agrees(steps, why), true) << why;
  }
}

TEST(StepProbe, EachPlantedDisagreementIsReported) {
  struct Planted {
    const char* what;
    std::function<void(BlockStep&)> change;
  };
  const Planted all[] = {{"L is 4, not 8", [](BlockStep& s) { s.terms = 4; }},
                         {"F is 24, not 25", [](BlockStep& s) { s.frac = 24; }},
                         {"rounding is rne, not rz", [](BlockStep& s) { s.rounding = StepRounding::rne; }},
                         {"kept bits is 13, not 23", [](BlockStep& s) { s.keep = 13; }},
                         {"floor is -126, not -133", [](BlockStep& s) { s.floor = -126; }}};
  for (const Planted& planted : all) {
    BlockStep step = table_step(90, MmaKind::tf32_f32);
    planted.change(step);
    const StepFindings s = probe_step(MmaKind::tf32_f32, 90, emulated([&](MmaKind) { return step; }));
    EXPECT_EQ(s.step, step) << planted.what;
    EXPECT_EQ(s.agrees, false) << planted.what;
    EXPECT_THAT(s.difference, HasSubstr(planted.what));
    std::string why;
    EXPECT_EQ(arithmetic_agrees({s}, why), false);
    EXPECT_THAT(why, HasSubstr("tf32 on Hopper"));
  }
}

TEST(StepProbe, FlushedSubnormalsAndRareWrongRowsAreReported) {
  const StepFunction right = emulated([](MmaKind kind) { return table_step(90, kind); });
  const auto changed = [&](auto change) {
    return probe_step(MmaKind::bf16_f32, 90, [&](auto kind, auto& a, auto& b, auto& c) {
      auto d = right(kind, a, b, c);
      change(d);
      return d;
    });
  };
  const StepFindings flushed = changed([](auto& d) {
    for (auto& x : d)
      if ((x >> 23 & 0xff) == 0) x = 0;
  });
  EXPECT_EQ(flushed.agrees, false);
  EXPECT_THAT(flushed.difference, HasSubstr("subnormal numbers are flushed"));
  const StepFindings rare = changed([](auto& d) {
    if (d.size() > 1000) d[777] ^= 1;
  });
  EXPECT_EQ(rare.equal, rare.tested - 1);
  EXPECT_EQ(rare.agrees, false);
}

TEST(StepProbe, WhatCannotBeComparedIsNoAgreement) {
  const StepFunction none = [](auto, auto&, auto&, auto&) -> std::vector<std::uint32_t> {
    throw Error("no such instruction");
  };
  std::string why;
  EXPECT_EQ(arithmetic_agrees(probe_steps(90, none), why), std::nullopt);
  EXPECT_THAT(why, HasSubstr("no such instruction"));
  const StepFindings s =
      probe_step(MmaKind::f16_f32, 0, emulated([](MmaKind kind) { return table_step(90, kind); }));
  EXPECT_EQ(s.agrees, std::nullopt);
  EXPECT_EQ(s.equal, s.tested);
}

}  // namespace
}  // namespace ulpscope
