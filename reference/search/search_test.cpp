#include "reference/search/search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "reference/operators.hpp"
#include "reference/plan.hpp"
#include "reference/testing/recorded.hpp"

namespace ulpscope {
namespace {

using testing::recorded_array;
using testing::recorded_tensor;

// A 16-bit result that was stored as floats, as bits of its own format.
Observation observe_as(const Tensor& floats, DType dtype) {
  Observation seen;
  seen.dtype = dtype;
  for (std::int64_t i = 0; i < floats.size(); ++i) {
    seen.outputs.push_back(i);
    seen.bits.push_back(static_cast<std::uint32_t>(round_to_bits(dtype, floats.view().at(i))));
  }
  return seen;
}

Tensor shortened(Tensor t, OperandFormat format) {
  shorten(format, t.as<float>(), static_cast<std::size_t>(t.size()));
  return t;
}

SearchResult search_gemm(const std::string& file, const std::string& mode) {
  Tensor a = recorded_tensor(file, "a"), b = recorded_tensor(file, "b");
  Problem p;
  p.params.op = "gemm";
  p.a = a.shape;
  p.b = b.shape;
  DType dtype = DType::f32;
  if (mode == "bf16" || mode == "fp16") {  // the recording rounded A and B to nearest even first
    const OperandFormat format = mode == "bf16" ? OperandFormat::bf16 : OperandFormat::fp16;
    dtype = mode == "bf16" ? DType::bf16 : DType::f16;
    a = shortened(a, format);
    b = shortened(b, format);
  }
  SearchOptions options;
  options.threads = 2;
  return find_plans(lower(p), {a.view(), b.view(), {}}, observe_as(recorded_tensor(file, "y_" + mode), dtype),
                    options);
}

struct Known {
  const char* file;
  const char* mode;
  const char* plan;
};

class RecordedGemm : public ::testing::TestWithParam<Known> {};
INSTANTIATE_TEST_SUITE_P(
    H200, RecordedGemm,
    ::testing::Values(Known{"gemm_1024x1024x64", "fp32", "fp32 | fma"},
                      Known{"gemm_1024x1024x64", "tf32", "tf32_rne | block 8 frac 25 rz"},
                      Known{"gemm_33x65x100", "fp32", "fp32 | fma | chunks 28 seq"},
                      Known{"gemm_128x128x1024", "fp32", "fp32 | fma | chunks 64 seq"},
                      Known{"gemm_128x128x1024", "tf32", "tf32_rne | block 8 frac 25 rz | chunks 64 seq"},
                      Known{"gemm_256x256x4096", "fp32", "fp32 | fma | lanes 16 every 8 seq"},
                      Known{"gemm_256x256x4096", "tf32", "tf32_rne | block 8 frac 25 rz | chunks 352 seq"},
                      Known{"gemm_64x64x8192", "fp32", "fp32 | fma | chunks 64 seq"},
                      Known{"gemm_64x64x8192", "tf32", "tf32_rne | block 8 frac 25 rz | chunks 160 seq"},
                      Known{"gemm_2048x2048x512", "fp32", "fp32 | fma"}));

// The plan is known: found before by a program that shares nothing with this one. It must be found again,
// alone.
TEST_P(RecordedGemm, IsFoundAgain) {
  const SearchResult r = search_gemm(GetParam().file, GetParam().mode);
  ASSERT_FALSE(r.plans.empty()) << "best " << r.best_share << " " << r.best_plan;
  EXPECT_EQ(r.plans[0], GetParam().plan);
  EXPECT_EQ(r.best_share, 1);
  EXPECT_GT(r.candidates, 10);
  std::printf("%lld candidates, %.2f s, %zu fit\n", static_cast<long long>(r.candidates), r.seconds,
              r.plans.size());
}

TEST(Search, SixteenBitResultsThatNothingCanTellApartAreCalledThat) {
  const SearchResult r = search_gemm("gemm_128x128x64", "bf16");
  ASSERT_FALSE(r.plans.empty());
  EXPECT_TRUE(r.rounded_exact_fits);
  EXPECT_FALSE(r.unique);
}

TEST(Search, SixteenBitResultsThatTellDoTell) {
  const SearchResult r = search_gemm("gemm_256x256x4096", "fp16");
  ASSERT_FALSE(r.plans.empty()) << r.best_share << " " << r.best_plan;
  EXPECT_FALSE(r.rounded_exact_fits);
  EXPECT_THAT(r.plans, ::testing::Contains("fp16 | block 16 frac 25 rz | chunks 1408 seq | out fp16"));
}

/// A random gemm in [-1, 1) and what `plan` makes of it.
struct MadeGemm {
  Contraction c;
  Tensor a, b, y;

  MadeGemm(const char* plan, DType in, std::int64_t m, std::int64_t k, std::int64_t n) {
    Problem p;
    p.params.op = "gemm";
    p.a = {m, k};
    p.b = {k, n};
    c = lower(p);
    a = make_tensor(in, p.a);
    b = make_tensor(in, p.b);
    y = make_tensor(DType::f32, {c.outputs()});
    std::mt19937_64 rng(5);
    for (Tensor* t : {&a, &b})
      for (std::int64_t i = 0; i < t->size(); ++i) {
        const std::uint64_t bits = round_to_bits(in, static_cast<double>(rng() >> 40) * 0x1p-23 - 1);
        std::memcpy(static_cast<char*>(t->data.get()) + i * size_of(in), &bits, size_of(in));
      }
    replay(*parse_plan(plan), c, operands(), 0, c.outputs(), y.as<std::uint32_t>(), 1);
  }
  Operands operands() const { return {a.view(), b.view(), {}}; }
  SearchResult found(const SearchOptions& options = {}) const {
    return find_plans(c, operands(), observe(y.view()), options);
  }
};

// Kernels that keep odd tiles: K tiles of 128 with the short one first, 16-bit products eight at a time,
// vectors that serve two steps, K tiles dealt to three thread blocks of which the last adds the first's sum
// first.
TEST(Search, OddTilesAndStepsAreFound) {
  for (const char* text :
       {"fp16 | block 16 frac 25 rz | residue 128", "bf16 | block 8 frac 25 rz | chunks 64 seq",
        "fp16 | block 16 frac 25 rz | interleave 2 every 4",
        "fp16 | block 16 frac 25 rz | lanes 3 every 64 butterfly"}) {
    const SearchResult r = MadeGemm(text, text[0] == 'b' ? DType::bf16 : DType::f16, 16, 250, 16).found();
    EXPECT_THAT(r.plans, ::testing::Contains(text)) << r.best_share << " " << r.best_plan;
  }
}

// bf16 data with some numbers below fp16's normal ones: its results, rounded to bf16, cannot tell whether
// those were shortened further. They are named as what they are, however the residuals fall.
TEST(Search, SixteenBitDataKeepTheirFormat) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    Problem p;
    p.params.op = "gemm";
    p.a = {12, 40};
    p.b = {40, 12};
    const Contraction c = lower(p);
    Tensor a = make_tensor(DType::f32, p.a), b = make_tensor(DType::f32, p.b);
    std::mt19937_64 rng(seed);
    for (Tensor* t : {&a, &b})
      for (std::int64_t i = 0; i < t->size(); ++i) {
        const float unit = static_cast<float>(rng() >> 40) * 0x1p-23f - 1;
        t->as<float>()[i] = rng() % 8 ? unit : unit * 0x1p-16f;
      }
    a = shortened(a, OperandFormat::bf16);
    b = shortened(b, OperandFormat::bf16);
    const Operands operands{a.view(), b.view(), {}};
    std::vector<std::uint32_t> bits(static_cast<std::size_t>(c.outputs()));
    replay(*parse_plan("bf16 | block 16 frac 25 rz | out bf16"), c, operands, 0, c.outputs(), bits.data(), 1);
    Observation seen;
    seen.dtype = DType::bf16;
    seen.bits = bits;
    for (std::int64_t i = 0; i < c.outputs(); ++i) seen.outputs.push_back(i);
    SearchOptions options;
    options.threads = 2;
    const SearchResult r = find_plans(c, operands, seen, options);
    ASSERT_FALSE(r.plans.empty()) << seed;
    EXPECT_TRUE(r.plans[0].starts_with("bf16 | ")) << seed << ": " << r.plans[0];
  }
}

// cuBLAS's dot_kernel and reduce_1Block: products rounded by themselves, two to a thread, a tree over 128
// threads, four accumulators over the blocks.
TEST(Search, ReductionsOverThreadsAndBlocksAreFound) {
  const char* text = "fp32 | mul_add | lanes 4 every 256 seq | chunks 256 seq | lanes 128 every 2 butterfly";
  const SearchResult r = MadeGemm(text, DType::f32, 12, 3110, 1).found();
  EXPECT_THAT(r.plans, ::testing::ElementsAre(text)) << r.best_share << " " << r.best_plan;
}

// K = 64 in chunks of 16 is the same program with a residue of 16 and without: the simpler one is named,
// whichever thread met it first. Rarely does a thread overtake another: hence so many runs.
TEST(Search, ThreadsDoNotChooseThePlan) {
  const char* text = "tf32_rne | block 8 frac 25 rz | chunks 16 seq";
  const MadeGemm gemm(text, DType::f32, 16, 64, 16);
  for (int run = 0; run < 400; ++run) {
    SearchOptions options;
    options.threads = 2 << run % 3;
    options.confirm = [](const Plan&) { return true; };
    const SearchResult r = gemm.found(options);
    ASSERT_FALSE(r.plans.empty());
    EXPECT_EQ(r.plans[0], text) << options.threads << " threads";
  }
}

// Few 16-bit outputs fit many plans; what is known of all of them (here the bits, in a capture a hash)
// chooses.
TEST(Search, GoesOnUntilAPlanPassesTheCallersTest) {
  const char* file = "gemm_256x256x4096";
  const Tensor a = shortened(recorded_tensor(file, "a"), OperandFormat::fp16),
               b = shortened(recorded_tensor(file, "b"), OperandFormat::fp16);
  Problem p;
  p.params.op = "gemm";
  p.a = a.shape;
  p.b = b.shape;
  const Contraction c = lower(p);
  const Operands operands{a.view(), b.view(), {}};
  const Observation all = observe_as(recorded_tensor(file, "y_fp16"), DType::f16);
  Observation few = all;
  few.outputs.resize(40);
  few.bits.resize(40);
  auto gives_all = [&](const Plan& plan) {
    std::vector<std::uint32_t> bits(all.bits.size());
    replay(plan, c, operands, all.outputs[0], static_cast<std::int64_t>(bits.size()), bits.data(), 1);
    return bits == all.bits;
  };
  SearchOptions options;
  options.operands = {OperandFormat::fp16};
  options.threads = 2;
  const SearchResult unaided = find_plans(c, operands, few, options);
  ASSERT_FALSE(unaided.plans.empty());
  EXPECT_FALSE(gives_all(*parse_plan(unaided.plans[0])));
  options.confirm = gives_all;
  const SearchResult aided = find_plans(c, operands, few, options);
  ASSERT_FALSE(aided.plans.empty());
  EXPECT_TRUE(gives_all(*parse_plan(aided.plans[0])));
  EXPECT_GT(aided.refuted, 0);
  EXPECT_NE(aided.refuted_plan, aided.plans[0]);
  EXPECT_FALSE(aided.unique);
}

// Outputs that no plan of the family can give: one output of 576 changed by one unit in the last place.
TEST(Search, OneWrongBitIsNotExplainedAway) {
  const Tensor a = recorded_tensor("gemm_33x65x100", "a"), b = recorded_tensor("gemm_33x65x100", "b");
  Problem p;
  p.params.op = "gemm";
  p.a = a.shape;
  p.b = b.shape;
  Observation seen = observe(recorded_tensor("gemm_33x65x100", "y_fp32").view());
  seen.bits[431] ^= 1;
  SearchOptions options;
  options.seconds = 2;  // nothing fits: the whole family would be walked
  options.threads = 2;
  const SearchResult r = find_plans(lower(p), {a.view(), b.view(), {}}, seen, options);
  EXPECT_TRUE(r.plans.empty());
  EXPECT_NEAR(r.best_share, 575.0 / 576, 1e-12);
  EXPECT_EQ(r.best_plan, "fp32 | fma | chunks 28 seq");
}

// Deliberately wrong inputs: with another weight column nothing may fit.
TEST(Search, WrongOperandsAreNotFitted) {
  const Tensor a = recorded_tensor("gemm_33x65x100", "a"), b = recorded_tensor("gemm_33x65x100", "b");
  Tensor wrong = make_tensor(DType::f32, b.shape);
  for (std::int64_t i = 0; i < b.size(); ++i) wrong.as<float>()[i] = b.as<float>()[(i + 1) % b.size()];
  Problem p;
  p.params.op = "gemm";
  p.a = a.shape;
  p.b = b.shape;
  const SearchResult r = find_plans(lower(p), {a.view(), wrong.view(), {}},
                                    observe(recorded_tensor("gemm_33x65x100", "y_fp32").view()));
  EXPECT_TRUE(r.plans.empty());
  EXPECT_LT(r.best_share, 0.1);
  for (const OperandFit& fit : r.operands) EXPECT_FALSE(fit.admissible);
}

TEST(Search, ADeclaredPlanIsTriedFirst) {
  const Tensor a = recorded_tensor("gemm_33x65x100", "a"), b = recorded_tensor("gemm_33x65x100", "b");
  Problem p;
  p.params.op = "gemm";
  p.a = a.shape;
  p.b = b.shape;
  SearchOptions options;
  options.hints = {"fp32 | fma | order reversed", "fp32 | fma | split 4 align 4 seq"};
  const SearchResult r = find_plans(lower(p), {a.view(), b.view(), {}},
                                    observe(recorded_tensor("gemm_33x65x100", "y_fp32").view()), options);
  ASSERT_EQ(r.plans.size(), 1u);
  EXPECT_EQ(r.plans[0], "fp32 | fma | split 4 align 4 seq");
}

}  // namespace
}  // namespace ulpscope
