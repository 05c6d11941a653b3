// P(fail) against 2,000 seeds: a TF32 gemm M 10, K 8, N 25 on normal data under an absolute tolerance of
// 0.005, which some 4 % of seeds exceed. A normal law with the right variances says 8 %.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/inputs.hpp"
#include "harness/statistics/error_model.hpp"
#include "reference/operators.hpp"
#include "reference/plan/program.hpp"
#include "reference/replay/scalar.hpp"

namespace ulpscope {
namespace {

TEST(FailProbability, MatchesTwoThousandSeeds) {
  Case test = parse_case("gemm 10x8 * 8x25 in=fp32 out=fp32 a=normal(0,1) b=normal(0,1) seed=1");
  const Contraction c = lower(test.problem);
  const auto plan = parse_plan("tf32_rne | block 8 frac 25 rz | order k");
  const Program program = compile(*plan, reduction_axes(c));
  constexpr int kSeeds = 2000;
  constexpr double kTolerance = 0.005;
  int failed = 0;
  double predicted = 0, normal_law = 0;
  ModelOptions options;
  options.threads = 1;
  for (int seed = 0; seed < kSeeds; ++seed) {
    test.seed = 1000 + static_cast<std::uint64_t>(seed);
    const Inputs inputs = make_inputs(test, 1);
    const Operands in = inputs.operands();
    ScalarReplay one(*plan, program, c, in);
    bool fails = false;
    for (std::int64_t o = 0; o < c.outputs(); ++o) {
      double value = 0;
      for (const Term& t : terms_of(c, o)) value += in.a.at(t.a) * in.b.at(t.b);
      fails |= std::fabs(value_of_bits(DType::f32, one(o)) - value) > kTolerance;
    }
    failed += fails;
    ErrorMixture m = model_error(*plan, c, model_data(in), options);
    predicted += fail_probability(m, kTolerance, 0) / kSeeds;
    m.contributions = nullptr;
    for (OutputError& e : m.outputs) e.spread.effective = HUGE_VAL;
    normal_law += fail_probability(m, kTolerance, 0) / kSeeds;
  }
  const double seen = static_cast<double>(failed) / kSeeds, error = std::sqrt(seen * (1 - seen) / kSeeds);
  std::printf("seeds failing %.4f +- %.4f, predicted %.4f, by a normal law %.4f\n", seen, error, predicted,
              normal_law);
  EXPECT_NEAR(predicted, seen, 2 * error);
  EXPECT_GT(normal_law, seen + 4 * error);  // why the tail's shape matters
}

}  // namespace
}  // namespace ulpscope
