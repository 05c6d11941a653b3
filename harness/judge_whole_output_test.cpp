// A few kept outputs may fit several plans; the whole output's hash tells which one it was.
#include <gtest/gtest.h>

#include <cstring>

#include "harness/inputs.hpp"
#include "harness/judge_capture.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

/// What an implementation of `plan` leaves of a case: the first `kept` outputs and the hash of all.
Capture capture_of(const std::string& text, const std::string& plan, std::int64_t kept) {
  Capture capture;
  capture.test = parse_case(text);
  capture.variant = "somebody_elses";
  capture.mode = Mode::bf16;
  capture.executed = "recorded";
  const Contraction c = lower(capture.test.problem);
  const Inputs inputs = make_inputs(capture.test, 1);
  capture.input_hash = inputs.hash;
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(c.outputs()));
  replay(*parse_plan(plan), c, inputs.operands(), 0, c.outputs(), bits.data(), 1);
  const std::vector<std::uint16_t> narrow(bits.begin(), bits.end());
  capture.output_hash = hash_bytes(narrow.data(), narrow.size() * 2, 1);
  Window window{0, make_tensor(DType::bf16, {kept})};
  std::memcpy(window.bits.data.get(), narrow.data(), static_cast<std::size_t>(kept) * 2);
  capture.windows.push_back(window);
  return capture;
}

constexpr const char* kCase = "gemm 190x500 * 500x180 in=bf16 out=bf16 a=normal(0,1) b=normal(0,1) seed=3";

TEST(JudgeWholeOutput, PlansThatOnlyFitWhatWasKeptAreRefused) {
  const std::string plan = "bf16 | block 16 frac 25 rz | chunks 128 | out bf16";
  const Capture capture = capture_of(kCase, plan, 3);
  // The plan that is tried first fits what was kept, but is not what ran.
  const Capture simpler = capture_of(kCase, "bf16 | block 16 frac 25 rz | out bf16", 3);
  ASSERT_EQ(std::memcmp(simpler.windows[0].bits.data.get(), capture.windows[0].bits.data.get(), 6), 0);
  ASSERT_NE(simpler.output_hash, capture.output_hash);
  InputsCache cache;
  const Result r = judge_capture(capture, cache, ReplayChoice::all, 2);
  EXPECT_TRUE(passes(r.judgement.verdict)) << r.judgement.reason;
  EXPECT_EQ(r.whole_output_replayed, true);
}

TEST(JudgeWholeOutput, WhereNoPlanGivesTheHashNothingIsExplained) {
  // Short sums, so that the search soon has no plan left to try.
  Capture capture = capture_of("gemm 30x6 * 6x20 in=bf16 out=bf16 a=normal(0,1) b=normal(0,1) seed=3",
                               "bf16 | fma | out bf16", 3);
  capture.output_hash[0] = capture.output_hash[0] == '0' ? '1' : '0';
  InputsCache cache;
  const Result r = judge_capture(capture, cache, ReplayChoice::all, 2);
  EXPECT_NE(r.judgement.verdict, Verdict::explained);
  EXPECT_EQ(r.whole_output_replayed, false);
}

}  // namespace
}  // namespace ulpscope
