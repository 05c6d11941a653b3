// The model against what really happens: recordings of an H200, replayed plans, and simulation by seeds.
#include "harness/statistics/error_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "harness/inputs.hpp"
#include "harness/io/read_tensor.hpp"
#include "reference/operators.hpp"
#include "reference/plan/program.hpp"
#include "reference/replay/scalar.hpp"

namespace ulpscope {
namespace {

std::string recorded(const std::string& spec) {
  return std::string(ULPSCOPE_SOURCE_DIR) + "/reports/recorded/pytorch-2.11-h200/" + spec;
}

double true_value(const Contraction& c, const Operands& in, std::int64_t o) {
  long double sum = in.bias.data ? in.bias.at(bias_index(c, o)) : 0;
  for (const Term& t : terms_of(c, o))
    sum += static_cast<long double>(in.a.at(t.a)) * (c.b_is_ones ? 1.0 : in.b.at(t.b));
  return static_cast<double>(sum / c.divisor);
}

struct Seen {
  double max_abs = 0, mean_abs = 0, mean_signed = 0;
};
Seen replayed(const std::string& text, const Contraction& c, const Operands& in, std::int64_t every = 1) {
  const auto plan = parse_plan(text);
  const Program program = compile(*plan, reduction_axes(c));
  ScalarReplay replay_one(*plan, program, c, in);
  Seen s;
  std::int64_t n = 0;
  for (std::int64_t o = 0; o < c.outputs(); o += every, ++n) {
    const double e = value_of_bits(plan->out, replay_one(o)) - true_value(c, in, o);
    s.max_abs = std::max(s.max_abs, std::fabs(e));
    s.mean_abs += std::fabs(e);
    s.mean_signed += e;
  }
  s.mean_abs /= static_cast<double>(n);
  s.mean_signed /= static_cast<double>(n);
  return s;
}

Contraction crop(const std::string& file, Tensor& x, Tensor& w, std::int64_t dilation) {
  x = read_tensor(recorded(file + ":" + (dilation > 1 ? "x_left" : "x")));
  w = read_tensor(recorded(file + ":w"));
  OperatorParams p;
  p.op = dilation > 1 ? "conv_transpose1d" : "conv2d";
  p.dilation = {dilation, 1, 1};
  return lower({p, x.shape, w.shape});
}

struct Seed {
  const char *file, *output, *plan;
  std::int64_t dilation;
};

// The two seed problems, as cuDNN computed them with TF32 allowed.
class Seeds : public ::testing::TestWithParam<Seed> {};

TEST_P(Seeds, ExpectedMeanAndMaximumWithin15Percent) {
  Tensor x, w;
  Contraction c = crop(GetParam().file, x, w, GetParam().dilation);
  const Tensor y = read_tensor(recorded(std::string(GetParam().file) + ":" + GetParam().output));
  if (GetParam().dilation > 1) c = slice(c, static_cast<int>(c.out.size()) - 1, 0, y.shape.back());
  const Operands in{x.view(), w.view(), {}};
  ASSERT_EQ(c.outputs(), y.size());
  double top = 0, mean = 0;
  for (std::int64_t o = 0; o < c.outputs(); ++o) {
    const double e = std::fabs(y.view().at(o) - true_value(c, in, o));
    top = std::max(top, e);
    mean += e;
  }
  mean /= static_cast<double>(c.outputs());
  const ErrorMixture m = model_error(*parse_plan(GetParam().plan), c, model_data(in));
  EXPECT_EQ(m.total, c.outputs());
  RecordProperty("expected_max", std::to_string(expected_max_abs(m)));
  std::printf("%s: max %.3g expected %.3g, mean %.3g expected %.3g\n", GetParam().file, top,
              expected_max_abs(m), mean, expected_mean_abs(m));
  EXPECT_NEAR(expected_max_abs(m) / top, 1, 0.15);
  EXPECT_NEAR(expected_mean_abs(m) / mean, 1, 0.15);
}

INSTANTIATE_TEST_SUITE_P(Recorded, Seeds,
                         ::testing::Values(Seed{"conv2d_pointwise_uniform.npz", "y_tf32",
                                                "tf32_rne | block 8 frac 25 rz | order c kh kw", 1},
                                           Seed{"conv2d_pointwise_normal.npz", "y_tf32",
                                                "tf32_rne | block 8 frac 25 rz | order c kh kw", 1},
                                           Seed{"conv_transpose1d_uniform.npz", "y_left_tf32",
                                                "tf32_rna | block 8 frac 25 rz | order c/16 kw c", 3},
                                           Seed{"conv_transpose1d_normal.npz", "y_left_tf32",
                                                "tf32_rna | block 8 frac 25 rz | order c/16 kw c", 3}));

// Every arithmetic: mean error, signed mean and maximum of replayed plans.
struct Accumulation {
  const char *problem, *plan;
};
class Accumulations : public ::testing::TestWithParam<Accumulation> {};

TEST_P(Accumulations, MatchesReplay) {
  const Case test = parse_case(GetParam().problem);
  const Inputs inputs = make_inputs(test);
  const Contraction c = lower(test.problem);
  const std::int64_t every = std::max<std::int64_t>(1, c.outputs() * c.terms() / 3'000'000);
  const Seen seen = replayed(GetParam().plan, c, inputs.operands(), every);
  ErrorMixture m = model_error(*parse_plan(GetParam().plan), c, model_data(inputs.operands()));
  m.total = c.outputs() / every;
  const double mean = expected_mean_abs(m), top = expected_max_abs(m), drift = expected_mean_signed(m);
  std::printf("%-40s %-45s max %.3g expected %.3g, mean %.3g expected %.3g, signed %.3g expected %.3g\n",
              GetParam().problem, GetParam().plan, seen.max_abs, top, seen.mean_abs, mean, seen.mean_signed,
              drift);
  EXPECT_NEAR(mean / seen.mean_abs, 1, 0.12);
  EXPECT_NEAR(top / seen.max_abs, 1, 0.3);
  // Outputs of a row or column share operand errors, so the mean's own error falls with rows, not outputs.
  double variance = 0;
  for (const OutputError& e : m.outputs) variance += e.spread.sigma * e.spread.sigma + e.half * e.half / 3;
  const double sigma = std::sqrt(variance / static_cast<double>(m.outputs.size()));
  const double rows = static_cast<double>(std::min(test.problem.a[0], test.problem.b[1]));
  EXPECT_NEAR(drift, seen.mean_signed, 3 * sigma / std::sqrt(rows));
}

constexpr const char* kUniform = "gemm 64x256 * 256x64 in=fp32 out=fp32 a=uniform(0,1) b=uniform(0,1) seed=3";
constexpr const char* kNormal = "gemm 64x256 * 256x64 in=fp32 out=fp32 a=normal(0,1) b=normal(0,1) seed=4";
constexpr const char* kLong = "gemm 16x4096 * 4096x16 in=fp32 out=fp32 a=uniform(0,1) b=uniform(0,1) seed=5";
INSTANTIATE_TEST_SUITE_P(
    Plans, Accumulations,
    ::testing::Values(
        Accumulation{kUniform, "fp32 | fma | order k"}, Accumulation{kNormal, "fp32 | fma | order k"},
        Accumulation{kLong, "fp32 | fma | order k"}, Accumulation{kNormal, "fp32 | mul_add | order k"},
        Accumulation{kNormal, "fp32 | fma | order k | split 16 seq"},
        Accumulation{kNormal, "fp32 | fma | pairwise"},
        Accumulation{kUniform, "fp32 | fma | lanes 32 butterfly"}, Accumulation{kNormal, "fp32 | kahan"},
        Accumulation{kUniform, "fp32 | kahan_fma"}, Accumulation{kNormal, "fp32 | fma fp64"},
        Accumulation{kLong, "tf32_rne | block 8 frac 25 rz | order k"},
        Accumulation{kLong, "bf16 | block 16 frac 25 rz | order k"},
        Accumulation{kNormal, "tf32_rz | block 8 frac 25 rz | order k"},
        Accumulation{kUniform, "tf32_rz | block 4 frac 24 rz | order k"},
        Accumulation{kNormal, "bf16 | block 16 frac 25 rz | order k"},
        Accumulation{kNormal, "fp16 | block 16 frac 25 rz | order k | out fp16"},
        Accumulation{kNormal, "fp32 | fma | order k | out bf16"},
        Accumulation{kNormal, "tf32_rna | block 8 frac 25 rz | order k | split 4 seq"}));

// Operands already shortened: only the truncating accumulator is left, and it drifts toward zero.
TEST(ErrorModel, TruncatingAccumulatorDriftsOnShortOperands) {
  for (const char* text : {"gemm 32x2048 * 2048x32 in=fp32 out=fp32 a=tf32(0,1) b=tf32(0,1) seed=6",
                           "gemm 32x2048 * 2048x32 in=fp32 out=fp32 a=tf32(-1,1) b=tf32(-1,1) seed=7"}) {
    const Case test = parse_case(text);
    const Inputs inputs = make_inputs(test);
    const Contraction c = lower(test.problem);
    const std::string plan = "tf32_rz | block 8 frac 25 rz | order k";
    const Seen seen = replayed(plan, c, inputs.operands());
    const ErrorMixture m = model_error(*parse_plan(plan), c, model_data(inputs.operands()));
    std::printf("%s: mean %.3g expected %.3g signed %.3g expected %.3g max %.3g expected %.3g\n", text,
                seen.mean_abs, expected_mean_abs(m), seen.mean_signed, expected_mean_signed(m), seen.max_abs,
                expected_max_abs(m));
    EXPECT_NEAR(expected_mean_abs(m) / seen.mean_abs, 1, 0.15);
    EXPECT_NEAR(expected_mean_signed(m), seen.mean_signed, 0.15 * seen.mean_abs);
    EXPECT_NEAR(expected_max_abs(m) / seen.max_abs, 1, 0.3);
  }
}

TEST(ErrorModel, IntegersHaveNoError) {
  const Case test = parse_case("gemm 8x64 * 64x8 in=fp32 out=fp32 a=integers(-8,9) b=integers(-8,9) seed=1");
  const Inputs inputs = make_inputs(test);
  const Contraction c = lower(test.problem);
  for (const char* plan : {"fp32 | fma", "tf32_rne | block 8 frac 25 rz", "fp32 | mul_add | pairwise",
                           "bf16 | block 16 frac 25 rz"}) {
    const ErrorMixture m = model_error(*parse_plan(plan), c, model_data(inputs.operands()));
    EXPECT_EQ(expected_max_abs(m), 0) << plan;
    EXPECT_EQ(fail_probability(m, 0, 0), 0) << plan;
  }
}

// Known roundings: the mean error of each output is what its operands' shortening does, so that what is left
// is accumulation.
TEST(ErrorModel, KnownRoundingsPredictEachOutput) {
  const Case test = parse_case("conv2d 1x16x7x7 * 8x16x3x3 p1 in=fp32 out=fp32 a=normal(0,1) seed=9");
  const Inputs inputs = make_inputs(test);
  const Contraction c = lower(test.problem);
  const auto plan = parse_plan("tf32_rna | block 8 frac 25 rz | order c/8 kh kw c");
  ModelOptions options;
  options.roundings = Roundings::known;
  const ErrorMixture m = model_error(*plan, c, model_data(inputs.operands()), options);
  const Program program = compile(*plan, reduction_axes(c));
  const Operands in = inputs.operands();
  ScalarReplay one(*plan, program, c, in);
  ASSERT_EQ(m.outputs.size(), static_cast<std::size_t>(c.outputs()));
  for (std::int64_t o = 0; o < c.outputs(); ++o) {
    const double e = value_of_bits(DType::f32, one(o)) - true_value(c, in, o);
    const OutputError& model = m.outputs[static_cast<std::size_t>(o)];
    EXPECT_LT(std::fabs(e - model.offset), 6 * model.spread.sigma) << o;
    EXPECT_LT(model.spread.sigma, 2e-6);
  }
}

TEST(ErrorModel, SharedRoundingsCancelAndRulesDiffer) {
  const Case test = parse_case("gemm 32x64 * 64x32 in=fp32 out=fp32 a=uniform(0,1) b=default_weight seed=2");
  const Inputs inputs = make_inputs(test);
  const Contraction c = lower(test.problem);
  auto mean = [&](const char* candidate, const char* reference) {
    return expected_mean_abs(
        model_difference(*parse_plan(candidate), *parse_plan(reference), c, model_data(inputs.operands())));
  };
  const double against_tf32 = mean("fp32 | fma", "tf32_rne | block 8 frac 25 rz");
  const double alike = mean("tf32_rne | fma", "tf32_rne | block 8 frac 25 rz");
  const double ties = mean("tf32_rna | fma", "tf32_rne | block 8 frac 25 rz");
  const double truncated = mean("tf32_rz | fma", "tf32_rne | block 8 frac 25 rz");
  EXPECT_GT(against_tf32, 3e-5);
  EXPECT_LT(alike, 2e-7);
  EXPECT_GT(ties, 2 * alike);
  EXPECT_LT(ties, against_tf32 / 5);
  EXPECT_GT(truncated, against_tf32);
  EXPECT_EQ(mean("fp32 | fma", "fp32 | fma"), 0);
}

TEST(ErrorModel, OverflowAndNonfiniteInputs) {
  std::vector<float> a{1e5f, 1, NAN, 1}, b{1, 1};
  OperatorParams p;
  p.op = "gemm";
  const Contraction c = lower({p, {2, 2}, {2, 1}});
  const Operands in{{a.data(), DType::f32, {2, 2}}, {b.data(), DType::f32, {2, 1}}, {}};
  const ErrorMixture m = model_error(*parse_plan("fp16 | block 16 frac 25 rz"), c, model_data(in));
  ASSERT_EQ(m.outputs.size(), 1u);  // the NaN row has no true value
  EXPECT_EQ(m.total, 1);
  EXPECT_EQ(fail_probability(m, 1, 1), 1);  // 1e5 is beyond fp16
  EXPECT_TRUE(std::isinf(smallest_atol(m, 0, 1e-3)));
}

TEST(ErrorModel, SampleIsSpreadAndDeterministic) {
  const auto s = sampled_outputs(std::int64_t{1} << 40, 1000);
  for (std::size_t i = 0; i < s.size(); ++i) {
    EXPECT_GE(s[i], (std::int64_t{1} << 40) / 1000 * static_cast<std::int64_t>(i));
    EXPECT_LT(s[i], std::int64_t{1} << 40);
    if (i) {
      EXPECT_GT(s[i], s[i - 1]);
    }
  }
  EXPECT_EQ(sampled_outputs(5, 5), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(ErrorModel, ThreadsDoNotMatter) {
  const Case test = parse_case("gemm 40x33 * 33x41 in=fp32 out=fp32 a=normal(0,1) b=normal(0,1) seed=8");
  const Inputs inputs = make_inputs(test);
  const Contraction c = lower(test.problem);
  ModelOptions one, four;
  one.threads = 1;
  four.threads = 4;
  const auto plan = parse_plan("bf16 | block 16 frac 25 rz | split 2");
  const ErrorMixture x = model_error(*plan, c, model_data(inputs.operands()), one);
  const ErrorMixture y = model_error(*plan, c, model_data(inputs.operands()), four);
  EXPECT_EQ(expected_max_abs(x), expected_max_abs(y));
  EXPECT_EQ(fail_probability(x, 1e-2, 0), fail_probability(y, 1e-2, 0));
}

}  // namespace
}  // namespace ulpscope
