// Every CUDA variant of ours on a real device: its declared plan, replayed, gives the same bits; twice, and
// in another launch shape; nothing written outside, nothing left unwritten. Skips itself where there is no
// GPU. Small enough for compute-sanitizer:
//   compute-sanitizer --tool memcheck|racecheck|initcheck kernels_tests --gtest_filter='*VariantsOnDevice.*'
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/support/executor.hpp"
#include "kernels/support/variant_inputs.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

/// Beyond one tile in every direction, tails everywhere, and each parameter in play.
std::vector<Problem> edge_problems(const std::string& op) {
  if (op == "conv1d")
    return {{{.op = op, .padding = {2, 0, 0}, .bias = true}, {2, 5, 300}, {70, 5, 5}},
            {{.op = op, .stride = {2, 1, 1}, .dilation = {3, 1, 1}, .groups = 2}, {1, 36, 141}, {6, 18, 3}}};
  if (op == "conv2d")
    return {
        {{.op = op}, {2, 64, 12, 12}, {128, 64, 1, 1}},  // the seed's channels; vector loads
        {{.op = op, .bias = true}, {1, 37, 11, 13}, {131, 37, 1, 1}},
        {{.op = op, .stride = {2, 1, 1}, .padding = {1, 2, 0}, .groups = 3}, {2, 27, 9, 17}, {6, 9, 3, 3}},
        {{.op = op, .padding = {1, 1, 0}, .dilation = {2, 1, 1}, .groups = 20},
         {1, 20, 14, 9},
         {20, 1, 3, 3}},
        {{.op = op}, {1, 1, 1, 1}, {1, 1, 1, 1}}};
  if (op == "conv_transpose1d")
    return {{{.op = op, .dilation = {3, 1, 1}}, {2, 32, 150}, {32, 64, 5}},  // the seed's channels
            {{.op = op, .dilation = {3, 1, 1}, .bias = true}, {1, 37, 140}, {37, 67, 5}},
            {{.op = op,
              .stride = {3, 1, 1},
              .padding = {2, 0, 0},
              .output_padding = {1, 0, 0},
              .dilation = {2, 1, 1},
              .groups = 2},
             {2, 26, 61},
             {26, 3, 4}},
            {{.op = op}, {1, 1, 1}, {1, 1, 1}}};
  if (op == "gemm")
    return {{{.op = op}, {130, 67}, {67, 141}},
            {{.op = op, .transpose_a = true, .transpose_b = true, .bias = true}, {3, 65, 70}, {3, 33, 65}}};
  if (op == "linear") return {{{.op = op, .bias = true}, {5, 300}, {7, 300}}};
  if (op == "dot") return {{{.op = op}, {70'001}, {70'001}}};
  if (op == "sum" || op == "mean") return {{{.op = op}, {100'003}, {}}};
  return {};
}

struct Formats {
  DType in, out;
};
constexpr Formats kFormats[] = {
    {DType::f32, DType::f32}, {DType::f32, DType::bf16},  {DType::f32, DType::f16}, {DType::bf16, DType::f32},
    {DType::f16, DType::f32}, {DType::bf16, DType::bf16}, {DType::f16, DType::f16}};

class VariantsOnDevice : public ::testing::TestWithParam<Values> {
 protected:
  void SetUp() override {
    std::string reason;
    executor = make_executor(Where::cuda, reason);
    if (!executor) GTEST_SKIP() << reason;
  }

  void check(const Problem& p, Values kind, Random& pick) {
    const Contraction c = lower(p);
    for (const Formats f : kFormats) {
      const VariantInputs inputs = random_inputs(p, f.in, kind, pick);
      executor->set_inputs(inputs.operands());
      for (const Variant* v : variants_of(p.params.op)) {
        if (v->where != Where::cuda || v->vendor) continue;
        for (Mode mode : v->modes)
          if (v->unsupported(p, f.in, f.out, mode).empty())
            for (const LaunchShape& shape : {LaunchShape{}, LaunchShape{.block = 32, .blocks = 3}})
              check(*v, mode, p, c, f, inputs, kind, shape);
      }
    }
  }

  void check(const Variant& v, Mode mode, const Problem& p, const Contraction& c, Formats f,
             const VariantInputs& inputs, Values kind, const LaunchShape& shape) {
    const std::string text = v.plan(p, mode);
    // A tensor-core kernel multiplies padding's zeros, so where infinities meet them it falls back to other
    // arithmetic; atomics may flush subnormal numbers.
    if (kind == Values::special && text.find("block") != std::string::npos) return;
    if (kind == Values::subnormal && !v.deterministic) return;
    SCOPED_TRACE(v.op + " " + v.name + ": " + to_string(p) + ", " + to_string(kind) + ", " + name_of(f.in) +
                 " to " + name_of(f.out) + (shape.blocks > 0 ? ", 3 blocks" : ""));
    LaunchArgs args;
    args.problem = &p;
    args.contraction = &c;
    args.in_dtype = f.in;
    args.out_dtype = f.out;
    args.mode = mode;
    args.shape = shape;
    const Execution run = executor->execute(v, args);
    EXPECT_TRUE(run.guards_intact);
    EXPECT_EQ(run.unwritten, 0) << "first " << run.first_unwritten;
    if (v.deterministic) {
      EXPECT_EQ(run.differing, 0) << "first " << run.first_differing;
    }
    executor->start_copy(0, {run.output}, {0, 1, c.outputs(), 0});
    const TensorView y{executor->finish_copy(0).front(), f.out, {c.outputs()}};
    if (text.empty() || text.find("unordered") != std::string::npos)
      expect_within_any_order(y, c, inputs);
    else
      expect_plan(text, y, c, f, inputs);
    executor->release(run.output);
  }

  static void expect_plan(const std::string& text, const TensorView& y, const Contraction& c, Formats f,
                          const VariantInputs& inputs) {
    std::vector<std::uint32_t> predicted(static_cast<std::size_t>(c.outputs()));
    replay(*parse_plan(with_output(text, f.out)), c, inputs.operands(), 0, c.outputs(), predicted.data());
    std::int64_t different = 0, first = -1;
    for (std::int64_t o = 0; o < c.outputs(); ++o)
      if (!same_result(f.out, static_cast<std::uint32_t>(y.bits_at(o)),
                       predicted[static_cast<std::size_t>(o)])) {
        if (first < 0) first = o;
        ++different;
      }
    if (different == 0) return;
    ADD_FAILURE() << different << " of " << c.outputs() << " outputs differ from plan '" << text
                  << "', first " << first << ": " << y.at(first) << " for "
                  << value_of_bits(f.out, predicted[static_cast<std::size_t>(first)]);
  }

  static void expect_within_any_order(const TensorView& y, const Contraction& c,
                                      const VariantInputs& inputs) {
    const double roundings = static_cast<double>(c.terms()) + 2;
    const double stored = std::ldexp(1.0, -info(y.dtype).precision);  // the output's own rounding
    for (std::int64_t o = 0; o < c.outputs(); ++o) {
      long double sum = 0, magnitude = 0;
      for (const Term& t : terms_of(c, o)) {
        const long double term =
            static_cast<long double>(inputs.a.view().at(t.a)) * (c.b_is_ones ? 1 : inputs.b.view().at(t.b));
        sum += term;
        magnitude += std::abs(term);
      }
      if (c.has_bias) {
        sum += inputs.bias.view().at(bias_index(c, o));
        magnitude += std::abs(inputs.bias.view().at(bias_index(c, o)));
      }
      if (!std::isfinite(magnitude)) continue;
      ASSERT_LE(std::abs(y.at(o) - sum / c.divisor),
                (roundings * 0x1p-24 * magnitude + stored * std::abs(sum)) / c.divisor +
                    std::ldexp(stored, info(y.dtype).emin))
          << "output " << o;
    }
  }

  std::unique_ptr<Executor> executor;
};

std::vector<std::string> operators_with_kernels() {
  std::vector<std::string> ops;
  for (const Variant& v : variants())
    if (v.where == Where::cuda && !v.vendor && (ops.empty() || ops.back() != v.op)) ops.push_back(v.op);
  return ops;
}

TEST_P(VariantsOnDevice, RandomProblemsFollowTheDeclaredPlan) {
  Random pick{std::mt19937_64(41)};
  for (const std::string& op : operators_with_kernels())
    for (int i = 0; i < 6; ++i) check(random_problem(op, pick), GetParam(), pick);
}

TEST_P(VariantsOnDevice, EdgesOfTilesFollowTheDeclaredPlan) {
  Random pick{std::mt19937_64(42)};
  for (const std::string& op : operators_with_kernels())
    for (const Problem& p : edge_problems(op)) check(p, GetParam(), pick);
}

INSTANTIATE_TEST_SUITE_P(Values, VariantsOnDevice,
                         ::testing::Values(Values::uniform, Values::integers, Values::subnormal,
                                           Values::special),
                         [](const auto& i) { return std::string(to_string(i.param)); });

}  // namespace
}  // namespace ulpscope
