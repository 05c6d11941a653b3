// Verdicts from planted evidence, exit codes, bounds and what modes admit.
#include "harness/judge.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/bound.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

Evidence good() {
  Evidence e;
  e.outputs = 100;
  e.measured = Measurement{};
  e.measured->outputs = 100;
  e.measured->finite_pairs = 100;
  e.measured->equal_bits = 90;
  e.measured->headroom = 0.5;
  e.measured->bound = 1e-6;
  return e;
}

struct Row {
  const char* name;
  std::function<void(Evidence&)> plant;
  Verdict verdict;
  const char* reason;
};

TEST(Judge, EveryKindOfEvidenceHasItsVerdict) {
  const Row rows[] = {
      {"bounded", [](Evidence&) {}, Verdict::bounded, "0.5 of its bound"},
      {"identical", [](Evidence& e) { e.measured->equal_bits = 100; }, Verdict::identical,
       "correctly rounded"},
      {"skipped", [](Evidence& e) { e.status = "skipped", e.reason = "no GPU"; }, Verdict::skipped, "no GPU"},
      {"error", [](Evidence& e) { e.status = "error", e.reason = "lost"; }, Verdict::error, "lost"},
      {"beyond", [](Evidence& e) { e.measured->beyond_bound = 1, e.measured->headroom = 7; },
       Verdict::violated, "factor of 7"},
      {"not_exact",
       [](Evidence& e) {
         e.measured->beyond_bound = 3, e.measured->headroom = HUGE_VAL, e.measured->bound = 0;
       },
       Verdict::violated, "3 of 100 outputs are not exact"},
      {"nan", [](Evidence& e) { e.measured->beyond_bound = e.measured->nonfinite_mismatch = 2; },
       Verdict::violated, "NaN or infinite"},
      {"nan_alone",
       [](Evidence& e) {
         e.measured->beyond_bound = e.measured->nonfinite_mismatch = e.measured->nan_beyond = 1;
       },
       Verdict::structural, "1 of 100 outputs are NaN"},
      {"nan_among_errors",
       [](Evidence& e) {
         e.measured->nonfinite_mismatch = e.measured->nan_beyond = 1, e.measured->beyond_bound = 2;
         e.measured->headroom = 7;
       },
       Verdict::violated, "factor of 7"},
      {"flushed",
       [](Evidence& e) {
         e.measured->beyond_bound = e.measured->flushed_beyond = 3, e.measured->headroom = 7;
       },
       Verdict::violated, "flushes subnormals to zero"},
      {"unwritten", [](Evidence& e) { e.unwritten = 3, e.first_unwritten = 97; }, Verdict::structural,
       "index 97"},
      {"guards", [](Evidence& e) { e.guards_intact = false; }, Verdict::violated, "outside its output"},
      {"differs", [](Evidence& e) { e.differing = 1, e.first_differing = 5; }, Verdict::nondeterministic,
       "index 5"},
      // Correct in every bit once and different the next time is no pass.
      {"differs_though_right", [](Evidence& e) { e.differing = 1, e.measured->equal_bits = 100; },
       Verdict::nondeterministic, "two runs"},
      {"explained",
       [](Evidence& e) {
         e.replay = {"fp32 | fma", 100, 100, true, ""};
       },
       Verdict::explained, "fp32 | fma"},
      {"explained_by_chance",
       [](Evidence& e) {
         e.measured->outputs = 2, e.measured->equal_bits = 0;
         e.replay = {"fp32 | fma", 2, 2, true, "", true};
       },
       Verdict::explained, "2 outputs may fit by chance"},
      {"one_bit_short",
       [](Evidence& e) {
         e.replay = {"fp32 | fma", 100, 99, true, ""};
       },
       Verdict::bounded, "99 of 100"},
      {"sampled_replay",
       [](Evidence& e) {
         e.replay = {"fp32 | fma", 50, 50, true, ""};
       },
       Verdict::bounded, "bound"},
      {"not_admitted",
       [](Evidence& e) {
         e.replay = {"tf32_rne | fma", 100, 100, false, "operands are shortened"};
       },
       Verdict::violated, "tf32_rne"},
      {"lost_terms",
       [](Evidence& e) {
         e.ones = {16, 16, 3, 20004, 20000};
       },
       Verdict::structural,
       "a launch on ones gives 20000 for output 3 of 20004 terms: terms are lost (16 of 16 outputs looked "
       "at)"},
      {"terms_twice",
       [](Evidence& e) {
         e.ones = {16, 1, 5, 10, 12};
       },
       Verdict::structural,
       "a launch on ones gives 12 for output 5 of 10 terms: terms are added twice, or others' terms (1 of "
       "16"},
      {"lost_terms_that_do_not_show",
       [](Evidence& e) {
         e.ones = {16, 16, 3, 10, 9}, e.measured->equal_bits = 100;
       },
       Verdict::structural, "terms are lost"},
      {"ones_right",
       [](Evidence& e) {
         e.ones = {16, 0, -1, 0, 0};
       },
       Verdict::bounded, "of its bound"},
      {"flag_ignored", [](Evidence& e) { e.effective_mode = "tf32"; }, Verdict::violated,
       "shortened to tf32"},
      {"no_bound", [](Evidence& e) { e.measured->unbounded = 100; }, Verdict::vacuous, "no finite bound"},
      {"partly_unbounded", [](Evidence& e) { e.measured->unbounded = 4; }, Verdict::bounded, "4 of 100"},
      {"nothing", [](Evidence& e) { e.measured->outputs = 0; }, Verdict::vacuous, "no output"}};
  for (const Row& row : rows) {
    Evidence e = good();
    row.plant(e);
    const Judgement j = judge(e);
    EXPECT_EQ(to_string(j.verdict), std::string(to_string(row.verdict))) << row.name << ": " << j.reason;
    EXPECT_NE(j.reason.find(row.reason), std::string::npos) << row.name << ": " << j.reason;
    EXPECT_FALSE(j.excused) << row.name;
  }
}

TEST(Judge, WhatIsNotKnownIsNotSaid) {
  Evidence e = good();
  e.differing = 9;
  EXPECT_EQ(judge(e).reason, "two runs differ in 9 of 100 outputs");
  e.unwritten = 2;
  EXPECT_EQ(judge(e).reason, "2 of 100 outputs were never written");
}

TEST(Judge, DeclaredNondeterminismIsExcusedOnlyWithinItsBound) {
  Evidence e = good();
  e.differing = 9;
  e.declared_nondeterministic = true;
  EXPECT_TRUE(judge(e).excused);
  e.measured->beyond_bound = 1;
  EXPECT_FALSE(judge(e).excused);
  EXPECT_EQ(judge(e).verdict, Verdict::nondeterministic);
}

TEST(ExitTally, FollowsTheTable) {
  auto code = [](std::initializer_list<Verdict> verdicts, bool excused = false) {
    ExitTally t;
    for (const Verdict v : verdicts) t.add(v, excused);
    return t.exit_code();
  };
  EXPECT_EQ(code({}), 3);
  EXPECT_EQ(code({Verdict::skipped, Verdict::vacuous}), 3);
  EXPECT_EQ(code({Verdict::identical, Verdict::skipped}), 0);
  EXPECT_EQ(code({Verdict::explained}), 0);
  EXPECT_EQ(code({Verdict::bounded}), 0);
  for (const Verdict v :
       {Verdict::violated, Verdict::structural, Verdict::nondeterministic, Verdict::unexplained}) {
    EXPECT_EQ(code({Verdict::bounded, v}), 1);
    EXPECT_EQ(code({v, Verdict::error}), 2);
  }
  EXPECT_EQ(code({Verdict::nondeterministic, Verdict::bounded}, true), 0);
  EXPECT_EQ(code({Verdict::nondeterministic}, true), 3);  // excused is not passed
  EXPECT_EQ(code({Verdict::violated}, true), 1);
}

TEST(Verdict, WordsReadBack) {
  for (int v = 0; v <= static_cast<int>(Verdict::error); ++v)
    EXPECT_EQ(parse_verdict(to_string(static_cast<Verdict>(v))), static_cast<Verdict>(v));
  EXPECT_THROW(parse_verdict("fine"), Error);
}

// ---- bounds
// ------------------------------------------------------------------------------------------------------

TEST(Admits, ModesPromiseWhatTheTableSays) {
  struct Line {
    Mode mode;
    DType in;
    const char* plan;
    bool admitted;
  };
  for (const Line& l :
       {Line{Mode::fp32, DType::f32, "fp32 | fma", true},
        {Mode::fp32, DType::f32, "fp64 | fma fp64", true},
        {Mode::fp32, DType::f32, "tf32_rne | fma", false},
        {Mode::fp32, DType::f32, "a fp32 b tf32_rna | fma", false},
        {Mode::strict, DType::f32, "bf16 | block 16 frac 25 rz", false},
        {Mode::fp32, DType::f32, "fp32 | fma fp16", false},
        {Mode::fp32, DType::f32, "fp32 | fma | split 2 as bf16", false},
        {Mode::tf32, DType::f32, "tf32_rna | block 8 frac 25 rz", true},
        {Mode::tf32, DType::f32, "fp32 | fma", true},
        {Mode::tf32, DType::f32, "bf16 | fma", false},
        {Mode::bf16, DType::f32, "bf16 | fma", true},
        {Mode::bf16, DType::f32, "fp16 | fma", false},
        {Mode::fp16, DType::f32, "fp16 | fma", true},
        {Mode::fp16, DType::f32, "bf16 | fma", false},
        {Mode::fp32, DType::bf16, "bf16 | block 16 frac 25 rz", true},     // as stored
        {Mode::fp32, DType::bf16, "tf32_rne | block 8 frac 25 rz", true},  // holds every bf16
        {Mode::fp32, DType::bf16, "fp16 | fma", false},
        {Mode::fp32, DType::f16, "fp16 | fma", true},
        // cuBLAS keeps a 16-bit gemm's partial sums so, unless forbidden
        {Mode::bf16, DType::bf16, "bf16 | block 16 frac 25 rz | split 2 seq as bf16 | out bf16", true},
        {Mode::bf16, DType::bf16, "bf16 | block 16 frac 25 rz | split 2 seq as bf16", false},
        {Mode::bf16, DType::bf16, "bf16 | fma bf16 | out bf16", false}}) {
    std::string why;
    EXPECT_EQ(admits(l.mode, l.in, *parse_plan(l.plan), why), l.admitted)
        << to_string(l.mode) << " " << l.plan;
    EXPECT_EQ(why.empty(), l.admitted) << l.plan;
  }
}

struct Dot {
  Contraction c;
  std::vector<float> a, b;
  Operands operands;
  explicit Dot(std::int64_t n) : a(static_cast<std::size_t>(n)), b(a.size()) {
    Problem p;
    p.params.op = "dot";
    p.a = p.b = {n};
    c = lower(p);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = 1.0f / static_cast<float>(i + 3);
      b[i] = (i % 2 ? -1.0f : 1.0f) / static_cast<float>(i + 7);
    }
    operands = {{a.data(), DType::f32, {n}}, {b.data(), DType::f32, {n}}, {}};
  }
};

TEST(BoundOfMode, IsTheWidestOfWhatTheModeAdmits) {
  const Dot d(1000);
  auto per_s = [&](Mode mode) {
    return bound_of_mode(mode, DType::f32, DType::f32, d.c, d.operands, 1).per_s;
  };
  EXPECT_NEAR(per_s(Mode::fp32), 1000 * 0x1p-24, 1000 * 0x1p-24 * 1e-3);  // n u, any order
  EXPECT_EQ(per_s(Mode::strict), per_s(Mode::fp32));
  EXPECT_GE(per_s(Mode::tf32), 2 * 0x1p-10 + 1000 * 0x1p-24);  // truncated operands
  EXPECT_LE(per_s(Mode::tf32), 2.1 * 0x1p-10 + 2000 * 0x1p-24);
  EXPECT_GE(per_s(Mode::bf16), 2 * 0x1p-7);
  EXPECT_LE(per_s(Mode::bf16), 2.2 * 0x1p-7);
  // bf16 output: half a unit of its last place on top
  const OutputBound narrow = bound_of_mode(Mode::fp32, DType::f32, DType::bf16, d.c, d.operands, 1);
  EXPECT_GE(narrow.per_s, 0x1p-8);
  EXPECT_LE(narrow.per_s, 0x1.1p-8);
  for (const char* plan : {"fp32 | fma", "fp32 | mul_add | pairwise", "fp32 | fma | split 16"})
    // (the better of two forms of one bound, n u and exp(n u) - 1)
    EXPECT_LE(bound_of_plan(*parse_plan(plan), d.c, d.operands, 1).per_s, per_s(Mode::fp32) * 1.0001) << plan;
  for (const char* plan :
       {"tf32_rne | block 8 frac 25 rz", "tf32_rz | block 4 frac 24 rz", "a fp32 b tf32_rna | fma"})
    EXPECT_LE(bound_of_plan(*parse_plan(plan), d.c, d.operands, 1).per_s, per_s(Mode::tf32)) << plan;
}

TEST(BoundOfMode, OperandsBeyondFp16HaveNoBoundThere) {
  Dot d(10);
  d.a[3] = 1e6f;
  EXPECT_TRUE(std::isinf(bound_of_mode(Mode::fp16, DType::f32, DType::f32, d.c, d.operands, 1).per_s));
  EXPECT_TRUE(std::isfinite(bound_of_mode(Mode::fp32, DType::f32, DType::f32, d.c, d.operands, 1).per_s));
}

TEST(MagnitudeLimit, IsNotBelowAnyS) {
  Dot d(100);
  double s = 0;
  for (std::size_t i = 0; i < 100; ++i)
    s += std::fabs(static_cast<double>(d.a[i]) * static_cast<double>(d.b[i]));
  const double limit = magnitude_limit(d.c, d.operands, 1);
  EXPECT_GE(limit, s);
  EXPECT_LE(limit, 100.0 / 21 * 1.001);
  d.a[5] = std::numeric_limits<float>::infinity();  // finite magnitudes decide
  EXPECT_LE(magnitude_limit(d.c, d.operands, 1), 100.0 / 21 * 1.001);
}

TEST(ExpectedMax, LiesBelowTheBoundAndNotFarBelowWhatHappens) {
  const Dot d(1000);
  const auto plan = parse_plan("fp32 | fma");
  const std::optional<double> expected = expected_max(*plan, d.c, d.operands, 1);
  ASSERT_TRUE(expected.has_value());
  EXPECT_GT(*expected, 0);
  EXPECT_LT(*expected, bound_of_plan(*plan, d.c, d.operands, 1).per_s * magnitude_limit(d.c, d.operands, 1));
}

}  // namespace
}  // namespace ulpscope
