// Every host variant of every operator: its declared plan, replayed, gives the same bits; without a plan, the
// bound holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "kernels/host/rows.hpp"
#include "kernels/support/variant_inputs.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

std::vector<std::uint32_t> run(const Variant& v, const Problem& p, const Contraction& c,
                               const VariantInputs& d, DType in, DType out, int threads = 1) {
  Tensor y = make_tensor(out, {c.outputs()});
  LaunchArgs args;
  args.problem = &p;
  args.contraction = &c;
  args.a = d.a.data.get();
  args.b = d.b.data.get();
  args.bias = d.bias.data.get();
  args.out = y.data.get();
  args.in_dtype = in;
  args.out_dtype = out;
  args.threads = threads;
  v.launch(args);
  std::vector<std::uint32_t> bits;
  for (std::int64_t o = 0; o < c.outputs(); ++o)
    bits.push_back(static_cast<std::uint32_t>(y.view().bits_at(o)));
  return bits;
}

std::vector<const Variant*> host_variants(const std::string& op) {
  std::vector<const Variant*> found;
  for (const Variant* v : variants_of(op))
    if (v->where == Where::host) found.push_back(v);
  return found;
}

TEST(HostVariants, EveryOperatorHasAllFour) {
  for (const std::string& op : operator_names()) {
    std::vector<std::string> names;
    for (const Variant* v : host_variants(op)) {
      names.push_back(v->name);
      EXPECT_TRUE(std::filesystem::exists(std::string(ULPSCOPE_SOURCE_DIR) + "/" + v->source)) << v->source;
    }
    for (const char* name : {"host_naive", "host_blocked", "host_pairwise", "host_eigen"})
      EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << op << " lacks " << name;
  }
}

TEST(HostVariants, DeclaredPlansReplayToTheSameBits) {
  Random pick{std::mt19937_64(21)};
  for (const std::string& op : operator_names())
    for (int i = 0; i < 24; ++i) {
      const Problem p = random_problem(op, pick);
      const Contraction c = lower(p);
      const auto kind = static_cast<Values>(i % 4);
      const DType in = std::array{DType::f32, DType::bf16, DType::f16}[static_cast<std::size_t>(i / 4 % 3)];
      const DType out = i / 12 ? in : DType::f32;
      const VariantInputs d = random_inputs(p, in, kind, pick);
      for (const Variant* v : host_variants(op)) {
        const std::string text = v->plan(p, Mode::fp32);
        if (text.empty()) continue;
        SCOPED_TRACE(to_string(p) + " " + v->name + " values " + std::to_string(i % 4) + " " + name_of(in));
        const auto plan = parse_plan(with_output(text, out));
        std::vector<std::uint32_t> predicted(static_cast<std::size_t>(c.outputs()));
        replay(*plan, c, d.operands(), 0, c.outputs(), predicted.data(), 1);
        const auto actual = run(*v, p, c, d, in, out);
        for (std::size_t o = 0; o < actual.size(); ++o) {
          ASSERT_TRUE(same_result(out, actual[o], predicted[o]))
              << "output " << o << ": " << value_of_bits(out, actual[o]) << " for "
              << value_of_bits(out, predicted[o]);
        }
      }
    }
}

// Rows longer than a piece, chunks of 64 crossed many times, all threads: still the plan's bits.
TEST(HostVariants, LargerProblemsAndThreadsKeepTheBits) {
  Random pick{std::mt19937_64(22)};
  const std::vector<Problem> problems{
      {{.op = "conv_transpose1d", .dilation = {3, 1, 1}, .bias = true}, {1, 32, 700}, {32, 5, 5}},
      {{.op = "conv_transpose1d", .stride = {3, 1, 1}, .padding = {2, 0, 0}}, {1, 9, 400}, {9, 2, 4}},
      {{.op = "conv2d", .padding = {1, 1, 0}, .groups = 2}, {2, 24, 13, 17}, {4, 12, 3, 3}},
      {{.op = "conv2d_backward_weight", .padding = {1, 1, 0}, .target = {3, 3}}, {2, 20, 9, 9}, {2, 3, 9, 9}},
      {{.op = "gemm"}, {7, 333}, {333, 600}},
      {{.op = "sum"}, {100'003}, {}},
      {{.op = "mean"}, {1'000}, {}},
      {{.op = "dot"}, {70'001}, {70'001}}};
  for (const Problem& p : problems) {
    const Contraction c = lower(p);
    const VariantInputs d = random_inputs(p, DType::f32, Values::uniform, pick);
    for (const Variant* v : host_variants(p.params.op)) {
      SCOPED_TRACE(to_string(p) + " " + v->name);
      const auto one = run(*v, p, c, d, DType::f32, DType::f32, 1);
      EXPECT_EQ(run(*v, p, c, d, DType::f32, DType::f32, 4), one);
      const std::string text = v->plan(p, Mode::fp32);
      if (text.empty()) continue;
      std::vector<std::uint32_t> predicted(one.size());
      replay(*parse_plan(text), c, d.operands(), 0, c.outputs(), predicted.data(), 1);
      EXPECT_EQ(one, predicted);
    }
  }
}

// Independent of the reference: terms one by one, in long double, whose own rounding (2^-64 a term) is out of
// sight.
TEST(HostVariants, StayWithinTheBoundOfAnyOrder) {
  Random pick{std::mt19937_64(23)};
  for (const std::string& op : operator_names())
    for (int i = 0; i < 8; ++i) {
      const Problem p = random_problem(op, pick);
      const Contraction c = lower(p);
      const VariantInputs d = random_inputs(p, DType::f32, i % 2 ? Values::integers : Values::uniform, pick);
      std::vector<long double> value, magnitude;
      for (std::int64_t o = 0; o < c.outputs(); ++o) {
        long double sum = 0, absolute = 0;
        for (const Term& t : terms_of(c, o)) {
          const long double term =
              static_cast<long double>(d.a.view().at(t.a)) * (c.b_is_ones ? 1 : d.b.view().at(t.b));
          sum += term;
          absolute += std::abs(term);
        }
        if (c.has_bias) {
          const double bias = d.bias.view().at(bias_index(c, o));
          sum += bias;
          absolute += std::abs(bias);
        }
        value.push_back(sum / c.divisor);
        magnitude.push_back(absolute / c.divisor);
      }
      const double roundings = static_cast<double>(c.terms()) + 2;  // the bias and the division
      for (const Variant* v : host_variants(op)) {
        SCOPED_TRACE(to_string(p) + " " + v->name);
        const auto y = run(*v, p, c, d, DType::f32, DType::f32);
        for (std::size_t o = 0; o < value.size(); ++o) {
          const double result = value_of_bits(DType::f32, y[o]);
          if (i % 2)
            EXPECT_EQ(result, static_cast<float>(value[o])) << "integers, output " << o;
          else
            EXPECT_LE(std::abs(result - value[o]), roundings * 0x1p-24 * magnitude[o] * (1 + 0x1p-20)) << o;
        }
      }
    }
}

// A tap on padding is no term: an infinite weight must not turn it into NaN.
TEST(HostVariants, PaddingBesideAnInfiniteWeightIsNotNaN) {
  const Problem p{{.op = "conv1d", .padding = {1, 0, 0}}, {1, 1, 2}, {1, 1, 3}};
  const Contraction c = lower(p);
  VariantInputs d;
  d.a = make_tensor(DType::f32, p.a);
  d.b = make_tensor(DType::f32, p.b);
  d.a.as<float>()[0] = 2, d.a.as<float>()[1] = 3;
  d.b.as<float>()[0] = std::numeric_limits<float>::infinity(), d.b.as<float>()[1] = 1, d.b.as<float>()[2] = 1;
  for (const Variant* v : host_variants("conv1d")) {
    const auto y = run(*v, p, c, d, DType::f32, DType::f32);
    EXPECT_EQ(value_of_bits(DType::f32, y[0]), 5) << v->name;
    EXPECT_TRUE(std::isinf(value_of_bits(DType::f32, y[1]))) << v->name;
  }
}

TEST(HostVariants, RefuseDoubles) {
  for (const Variant* v : host_variants("gemm"))
    EXPECT_NE(v->unsupported({}, DType::f64, DType::f32, Mode::fp32), "") << v->name;
}

}  // namespace
}  // namespace ulpscope
