// The ladder that a run keeps: gathered outputs sum to the same bits, rungs name what was planted, shards and
// threads change nothing.
#include "harness/ladder/result_ladder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/inputs.hpp"
#include "harness/ladder/gather.hpp"
#include "reference/plan.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::vector<std::uint32_t> replayed(const std::string& plan, const Contraction& c, const Operands& o) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(c.outputs()));
  replay(*parse_plan(plan), c, o, 0, c.outputs(), bits.data(), 2);
  return bits;
}

/// A result whose output is what `plan` makes of a case, `promised` being the plan that a judge replayed.
struct Made {
  Case test;
  Contraction c;
  Inputs inputs;
  Result result;
  OutputSample sample;

  Made(const std::string& text, const std::string& plan, const std::string& promised, int threads = 2)
      : test(parse_case(text)), c(lower(test.problem)), inputs(make_inputs(test)) {
    const std::vector<std::uint32_t> bits = replayed(plan, c, inputs.operands());
    sample.ranges = sample_ranges({{0, c.outputs()}}, c.terms());
    for (const WindowRange& r : sample.ranges)
      for (std::int64_t i = 0; i < r.count; ++i)
        sample.bits.push_back(bits[static_cast<std::size_t>(r.begin + i)]);
    result.test = test;
    result.evidence.measured.emplace().outputs = c.outputs();
    if (plan == promised) result.evidence.replay = ReplayOutcome{plan, c.outputs(), c.outputs(), true, ""};
    explanation = explain_result(result, c, inputs.operands(), sample, nullptr, threads);
  }
  json explanation;

  std::string status(const std::string& rung) const {
    for (const json& r : explanation.at("ladder"))
      if (r["rung"] == rung) return r["status"];
    return "no such rung";
  }
};

const char* const kStrided = "conv_transpose1d 2x16x90 * 16x8x5 s2 p1 d3 bias seed=3";

TEST(Gather, OutputsSumToTheSameBits) {
  for (const char* text : {kStrided, "conv2d 1x8x11x9 * 6x4x3x3 s2,1 p1 d1,2 g2 seed=5",
                           "gemm 9x70 * 70x5 seed=1", "sum 6x50 seed=2"}) {
    const Case test = parse_case(text);
    const Contraction c = lower(test.problem);
    const Inputs inputs = make_inputs(test);
    std::vector<std::int64_t> outputs;
    for (std::int64_t o = 0; o < c.outputs(); o += 3) outputs.push_back(o);
    const GatheredOutputs few = gather_outputs(c, inputs.operands(), outputs);
    for (const char* plan :
         {"fp32 | fma", "tf32_rna | block 8 frac 25 rz | split 2 seq", "fp32 | mul_add | pairwise"}) {
      const auto whole = replayed(plan, c, inputs.operands()), part = replayed(plan, few.c, few.operands());
      for (std::size_t i = 0; i < outputs.size(); ++i)
        ASSERT_EQ(part[i], whole[static_cast<std::size_t>(outputs[i])]) << text << ", " << plan << ", " << i;
    }
  }
}

TEST(ResultLadder, SamplesBothEndsAndNoOutputTwice) {
  for (const std::int64_t n : {1, 255, 256, 257, 5000, 1 << 30}) {
    for (const std::int64_t terms : {1, 3000, 1 << 15, 1 << 16}) {
      const auto ranges = sample_ranges({{0, n / 3}, {n, n - n / 3}}, terms);
      std::int64_t total = 0, last = -1;
      for (const WindowRange& r : ranges) {
        EXPECT_GT(r.begin, last);
        EXPECT_GT(r.count, 0);
        last = r.begin + r.count - 1;
        total += r.count;
      }
      EXPECT_LE(total, 256);
      EXPECT_LE(total * terms, 1 << 16);
      EXPECT_GE(total, std::min<std::int64_t>({n, 16, (1 << 16) / terms}));
      if (total > 16) {
        EXPECT_EQ(last, n + n - n / 3 - 1);
      }
    }
  }
  EXPECT_TRUE(sample_ranges({{0, 10}}, (1 << 16) + 1).empty());
}

TEST(ResultLadder, NamesTheRoundingOfTheOperands) {
  const Made fp32(kStrided, "fp32 | fma", "fp32 | fma");
  EXPECT_EQ(fp32.explanation["cause"], "accumulator");
  EXPECT_EQ(fp32.explanation["operands"], "fp32");
  EXPECT_EQ(fp32.status("operands fp32"), "confirmed");
  EXPECT_EQ(fp32.status("operands tf32_rna"), "excluded");
  EXPECT_EQ(fp32.status("plan found by search"), "confirmed");

  const std::string core = "tf32_rz | block 8 frac 25 rz";
  const Made tf32(kStrided, core, "none");
  EXPECT_EQ(tf32.explanation["cause"], "candidate_precision");
  EXPECT_EQ(tf32.explanation["operands"], "tf32_rz");
  EXPECT_THAT(tf32.explanation["cause_why"].get<std::string>(), HasSubstr("tf32_rz"));
  EXPECT_EQ(tf32.status("operands fp32"), "excluded");
  EXPECT_EQ(tf32.status("operands tf32_rz"), "confirmed");
  EXPECT_EQ(tf32.status("plan"), "not tested");

  const Made input_only(kStrided, "a tf32_rne b fp32 | fma", "none");
  EXPECT_EQ(input_only.status("input alone tf32_rne"), "confirmed");
  EXPECT_EQ(input_only.explanation["operands_weight"], "fp32");
}

TEST(ResultLadder, IsTheSameForAnyNumberOfThreads) {
  const Made one(kStrided, "bf16 | block 16 frac 25 rz", "none", 1);
  const Made four(kStrided, "bf16 | block 16 frac 25 rz", "none", 4);
  EXPECT_EQ(one.explanation.dump(), four.explanation.dump());
  EXPECT_EQ(one.explanation["bits"].get<std::string>().size(), 8 * one.sample.bits.size());
}

TEST(ResultLadder, WhatLaunchesShowedComesFirst) {
  Made m("gemm 9x70 * 70x5 seed=1", "fp32 | fma", "fp32 | fma");
  m.result.evidence.unwritten = 7;
  m.result.evidence.differing = 3;
  m.explanation = explain_result(m.result, m.c, m.inputs.operands(), m.sample, nullptr, 1);
  EXPECT_EQ(m.status("not written, or written outside"), "confirmed");
  EXPECT_EQ(m.status("no determinism"), "confirmed");
  EXPECT_EQ(m.explanation["cause"], "nondeterminism");
  m.result.evidence.measured.reset();
  EXPECT_TRUE(explain_result(m.result, m.c, m.inputs.operands(), m.sample, nullptr, 1).is_null());
}

// A kernel that stops early: named, where all outputs are there and the problem is small.
TEST(NameMistake, ALostTailBecomesStructural) {
  Made m("gemm 9x72 * 72x5 a=normal(0,1) b=normal(0,1) seed=1", "fp32 | fma", "none");
  const Tensor y = make_tensor(DType::f32, {m.c.outputs()});
  for (std::int64_t i = 0; i < m.c.outputs(); ++i) {
    float sum = 0;
    for (std::int64_t k = 0; k < 64; ++k)
      sum = std::fma(m.inputs.a.as<float>()[i / 5 * 72 + k], m.inputs.b.as<float>()[k * 5 + i % 5], sum);
    static_cast<float*>(y.data.get())[i] = sum;
  }
  const auto whole = [&] { return y; };
  m.result.judgement = {Verdict::violated, "45 of 45 outputs lie outside their bound", false};
  explain_in_place(m.result, m.c, m.inputs.operands(), m.sample, whole, true, 2);
  EXPECT_EQ(m.result.judgement.verdict, Verdict::violated);  // nothing was beyond the bound: not looked at
  m.result.evidence.measured->beyond_bound = 45;
  explain_in_place(m.result, m.c, m.inputs.operands(), m.sample, whole, true, 2);
  EXPECT_EQ(m.result.judgement.verdict, Verdict::structural);
  EXPECT_THAT(m.result.judgement.reason, HasSubstr("the last 8 of 72 terms along k are missing"));
  EXPECT_THAT(m.result.judgement.reason, HasSubstr("45 of 45 outputs"));
  m.explanation = m.result.explanation;
  EXPECT_EQ(m.explanation["cause"], "structural");
  EXPECT_EQ(m.status("structural mistake"), "confirmed");
}

}  // namespace
}  // namespace ulpscope
