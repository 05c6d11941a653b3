// Mismatches that people reported, where the cause is no rounding: lost terms, nothing written, races, other
// weights, tolerances that see nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "harness/explain/question.hpp"
#include "harness/measure.hpp"
#include "harness/measure_strata.hpp"

namespace ulpscope {
namespace {

using testing::copy_of;
using testing::floats;
using testing::Question;

// Ones times ones at an unaligned K: a split-K returned K - (K mod block).
TEST(Field, LostTailOfASplitIsNamed) {
  using Fits = std::pair<std::int64_t, std::string>;
  for (const auto& [k, tiles] :
       {Fits{100, "100 mod 8, 16 and 32"}, Fits{135, "135 mod 8, 16, 32, 64 and 128"},
        Fits{1000, "1000 mod 16 and 32"}}) {
    Question q("gemm 8x" + std::to_string(k) + " * " + std::to_string(k) + "x8 a=ones b=ones");
    const std::int64_t lost = k % 32;
    Tensor y = make_tensor(DType::f32, {8, 8});
    std::fill_n(y.as<float>(), 64, static_cast<float>(k - lost));
    const Explanation e = q.why(y);
    EXPECT_EQ(e.cause, "structural");
    ASSERT_TRUE(e.candidate.mistake) << k;
    EXPECT_EQ(e.candidate.mistake->name, "lost_tail");
    EXPECT_NE(e.candidate.mistake->what.find("the last " + std::to_string(lost) + " of " + std::to_string(k)),
              std::string::npos)
        << e.candidate.mistake->what;
    EXPECT_TRUE(e.candidate.mistake->what.ends_with(" are missing = " + tiles))
        << "every tile that fits: " << e.candidate.mistake->what;
    EXPECT_EQ(e.rungs[2].status, RungStatus::confirmed) << "integers: no rounding can do that";
    std::fill_n(y.as<float>(), 64, static_cast<float>(k));
    EXPECT_EQ(q.why(y).candidate.verdict, Verdict::identical);
  }
}

// Split-K by atomics of (1e30, -1e30, 1): 0 or 1 from run to run.
TEST(Field, AtomicsAreNondeterministicWithTheTreeOfEachValue) {
  Problem p;
  p.params.op = "gemm";
  p.a = {1, 3};
  p.b = {3, 1};
  Question q(p, floats({1, 3}, {1e30f, -1e30f, 1}), floats({3, 1}, {1, 1, 1}));
  q.r.repeats = {{"again", floats({1, 1}, {1})}};
  const Explanation e = q.why(floats({1, 1}, {0}));
  EXPECT_EQ(e.cause, "nondeterminism");
  EXPECT_EQ(e.candidate.verdict, Verdict::nondeterministic);
  EXPECT_FALSE(e.repeats.race);
  EXPECT_EQ(e.repeats.first_a, 0);
  EXPECT_EQ(e.repeats.first_b, 1);
  EXPECT_EQ(e.repeats.tree_a, "((0 2) 1)");
  EXPECT_EQ(e.repeats.tree_b, "((0 1) 2)");
  EXPECT_NE(e.summary.find("((0 1) 2)"), std::string::npos) << e.summary;
}

// [32000] * 4 with [-32000] * 4 in half precision: 0 or infinity by layout.
TEST(Field, InfinityAgainstFiniteIsNoLargeNumber) {
  Problem p;
  p.params.op = "sum";
  p.a = {1, 8};
  Question q(p, floats({1, 8}, {32000, 32000, 32000, 32000, -32000, -32000, -32000, -32000}), Tensor{});
  const Tensor serial = q.made("fp32 | fma fp16 | out fp16"),
               dealt = q.made("fp32 | fma fp16 | lanes 4 | out fp16");
  EXPECT_TRUE(std::isinf(serial.view().at(0)));
  EXPECT_EQ(dealt.view().at(0), 0);
  const Explanation e = q.why(serial, dealt);
  EXPECT_EQ(e.cause, "nonfinite");
  EXPECT_EQ(e.pair->nonfinite_mismatch, 1);
  EXPECT_EQ(e.pair->violations, 1);
  EXPECT_EQ(e.pair->max_abs, 0) << "no finite pair";
}

// Zeros for an operator whose outputs all lie below the tolerance.
TEST(Field, ToleranceThatAcceptsZerosIsVacuous) {
  for (const double atol : {1e-2, 1e-4}) {
    Question q("gemm 16x16 * 16x16 a=uniform(-0.001,0.001) b=uniform(-0.001,0.001) seed=1", atol, 0);
    const Explanation e = q.why(q.made("fp32 | fma"));
    EXPECT_TRUE(e.zeros_pass);
    EXPECT_TRUE(passes(e.candidate.verdict));
    EXPECT_NE(e.summary.find("accepts zeros"), std::string::npos);
    Tensor zeros = make_tensor(DType::f32, {16, 16});
    std::fill_n(zeros.as<float>(), 256, 0.0f);
    EXPECT_EQ(q.why(zeros).candidate.verdict, Verdict::vacuous);
    q.r.tolerance.atol = 1e-7;
    const Explanation seen = q.why(zeros);
    EXPECT_FALSE(seen.zeros_pass);
    EXPECT_EQ(seen.cause, "structural");
  }
}

// NaN passes a check that asks whether the difference is greater than the tolerance.
TEST(Field, NanNeverPasses) {
  Question q("gemm 16x16 * 16x16 a=uniform(0,1) b=uniform(0,1) seed=1");
  Tensor y = q.made("fp32 | fma");
  for (int i = 0; i < 256; ++i) y.as<float>()[i] = std::nanf("");
  const Explanation e = q.why(y, q.made("fp32 | fma"));
  EXPECT_EQ(e.cause, "nonfinite");
  EXPECT_EQ(e.pair->violations, 256);
  EXPECT_FALSE(passes(e.candidate.verdict));
  ASSERT_TRUE(e.candidate.mistake);
  EXPECT_EQ(e.candidate.mistake->name, "unwritten");
}

// Two results that share a mistake agree in every bit, and are wrong.
TEST(Field, AgreementOnNanIsNothingToBeContentWith) {
  Question q("gemm 16x16 * 16x16 a=uniform(0,1) b=uniform(0,1) seed=1");
  const auto nans = [&] {
    Tensor y = q.made("fp32 | fma");
    std::fill_n(y.as<float>(), 256, std::nanf(""));
    return y;
  };
  const Explanation e = q.why(nans(), nans());
  EXPECT_EQ(e.cause, "none");
  EXPECT_FALSE(passes(e.candidate.verdict));
  EXPECT_EQ(e.summary.find("Nothing to do"), std::string::npos);
  EXPECT_NE(e.summary.find("not with these operands"), std::string::npos);
}

// The ratio of the finite outputs to their bound says nothing of an infinite one.
TEST(Field, InfinityIsNotMeasuredInBounds) {
  Question q("gemm 16x16 * 16x16 a=uniform(0,1) b=uniform(0,1) seed=1");
  Tensor y = q.made("fp32 | fma");
  y.as<float>()[5] = std::numeric_limits<float>::infinity();
  q.r.seconds = 0.2;  // no plan gives an infinity: the family is not walked to its end
  const Explanation e = q.why(y, q.made("fp32 | fma"));
  EXPECT_EQ(e.cause, "nonfinite");
  EXPECT_EQ(e.candidate.verdict, Verdict::violated);
  EXPECT_NE(e.candidate.why.find("NaN or infinite"), std::string::npos);
  EXPECT_EQ(e.candidate.why.find("times at worst"), std::string::npos);
}

// One element of 4096^2 wrong by 100 sigma: a similarity score over all of them is 3.0e-4 and passes 1e-3.
TEST(Field, OneElementOfMillionsIsFound) {
  const std::int64_t n = 4096;
  Problem p;
  p.params.op = "gemm";
  p.a = {n, 1};
  p.b = {1, n};
  Tensor x = make_tensor(DType::f32, {n, n});
  std::mt19937 rng(1);
  const float unit = std::sqrt(12.0f) * 0x1p-32f;  // variance 1
  for (std::int64_t i = 0; i < n * n; ++i) x.as<float>()[i] = unit * (static_cast<float>(rng()) - 0x1p31f);
  Tensor y = copy_of(x);
  const std::int64_t at = 1234 * n + 567;
  y.as<float>()[at] += 100;
  double difference = 0, squares = 0;
  for (std::int64_t i = 0; i < n * n; ++i) {
    const double s = x.as<float>()[i], t = y.as<float>()[i];
    difference += (s - t) * (s - t);
    squares += s * s + t * t;
  }
  EXPECT_NEAR(difference / squares, 3.0e-4, 0.05e-4);
  PairMeasurer pair(std::make_shared<const StrataMap>(lower(p)), DType::f32, DType::f32,
                    Tolerance{1e-3, 1e-3});
  pair.add(0, n * n, y.data.get(), x.data.get());
  const PairMeasurement m = pair.result();
  EXPECT_EQ(m.violations, 1);
  EXPECT_EQ(m.max_abs_index, at);
  EXPECT_NEAR(m.max_abs, 100, 1e-3);
}

// Repeated calls that differ by far more than order can do.
TEST(Field, SpreadBeyondOrderIsARace) {
  Question q("gemm 8x64 * 64x8 a=normal(0,1) b=normal(0,1) seed=1");
  q.r.seconds = 0.1;
  Tensor y = q.made("fp32 | fma");
  q.r.repeats = {{"again", q.made("fp32 | fma | order shuffle 3")}};
  EXPECT_FALSE(q.why(y).repeats.race);
  q.r.repeats[0].output.as<float>()[20] += 0.25f;
  const Explanation e = q.why(y);
  EXPECT_TRUE(e.repeats.race);
  EXPECT_EQ(e.cause, "nondeterminism");
  EXPECT_NE(e.summary.find("race"), std::string::npos);
}

// `int total` of 2^31 elements: the kernel returns at once, and the output is what it was.
TEST(Field, OutputThatIsWhatItWasIsUnwritten) {
  Question q("conv2d 1x8x8x8 * 8x8x1x1 a=uniform(0,1) seed=2");
  for (const float left : {0.0f, -1.5f, std::nanf("")}) {
    Tensor y = q.made("fp32 | fma");
    std::fill_n(y.as<float>(), y.size(), left);
    const Explanation e = q.why(y);
    ASSERT_TRUE(e.candidate.mistake) << left;
    EXPECT_EQ(e.candidate.mistake->name, "unwritten");
    EXPECT_NE(e.candidate.why.find("never written"), std::string::npos);
    EXPECT_EQ(e.cause, std::isnan(left) ? "nonfinite" : "structural");
  }
}

// Weights loaded by `if (tid < 512)` with 256 threads: half of the shared memory is garbage.
TEST(Field, HalfLoadedSharedMemoryIsStructuralWithItsChannels) {
  Question q("conv2d 1x64x12x12 * 32x64x1x1 a=uniform(0,1) seed=2");
  Tensor w = copy_of(q.inputs.b);
  std::mt19937 rng(7);
  for (std::int64_t i = 0; i < w.size(); ++i)  // tiles of 8 channels by 64
    if (i % 512 >= 256) w.as<float>()[i] = static_cast<float>(rng()) * 0x1p-30f - 2;
  const Explanation e = q.why(q.made("fp32 | fma", &w), q.made("tf32_rna | block 8 frac 25 rz"));
  EXPECT_TRUE(e.cause == "structural" || e.cause == "unexplained") << e.cause;
  EXPECT_FALSE(passes(e.candidate.verdict));
  ASSERT_TRUE(e.candidate.mistake);
  const Region& r = e.candidate.mistake->region;
  EXPECT_EQ(r.axis, "channel");
  EXPECT_EQ(r.modulo, 8) << r.words;
  EXPECT_EQ(r.positions,
            (std::vector<std::int64_t>{4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31}));
  EXPECT_NE(e.summary.find("channel with position mod 8 in {4, 5, 6, 7}"), std::string::npos) << e.summary;
}

// Both sides initialised by themselves: max 1.8, mean 0.28 at the seed's transposed convolution.
TEST(Field, OtherWeightsAreSeenByTheirHashesFirst) {
  const std::string text = "conv_transpose1d 2x32x1500 * 32x64x5 d3 a=uniform(0,1) seed=";
  Question q(text + "1");
  const Inputs other = make_inputs(parse_case(text + "2"));
  const Tensor mine = q.made("fp32 | fma"), theirs = q.made("fp32 | fma", &other.b);
  q.r.reference_operands = Operands{q.inputs.a.view(), other.b.view(), {}};
  const Explanation e = q.why(mine, theirs);
  EXPECT_EQ(e.cause, "inputs_differ");
  EXPECT_NE(e.cause_why.find("weight"), std::string::npos) << e.cause_why;
  EXPECT_EQ(e.cause_why.find("input ("), std::string::npos) << "the input is the same";
  EXPECT_NEAR(e.pair->mean_abs / 0.28, 1, 0.2);
  EXPECT_NEAR(e.pair->max_abs / 1.8, 1, 0.35);
  EXPECT_TRUE(passes(e.candidate.verdict)) << "each side is right for its own weights";
  EXPECT_TRUE(passes(e.reference->verdict));
}

}  // namespace
}  // namespace ulpscope
