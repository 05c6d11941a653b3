// What the tensor-core kernels do, spelled out step by step with the hardware's step as one function, against
// the plans that they declare. The fragments' layout is for the device to prove
// (variants_on_device.cuda_test.cpp); the order, the roundings and the passes are proved here.
#include <gtest/gtest.h>

#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/gather.hpp"
#include "kernels/support/variant_inputs.hpp"
#include "reference/arithmetic/block_step.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

struct Chain {
  OperandFormat format;
  int terms;
};

/// One accumulator, steps of `terms` places: tf32_mma, tf32_wgmma, bf16_mma, fp16_mma.
template <class Map>
float single_pass(const Map& map, const OutputPlace& at, const float* x, const float* w, Chain chain) {
  const BlockStep step{.terms = chain.terms, .frac = 25};
  const auto column = map.column(at.image, at.group, at.position);
  float sum = 0;
  for (int k0 = 0; k0 < map.order.depth(); k0 += chain.terms) {
    float a[16] = {}, b[16] = {};
    for (int k = 0; k < chain.terms; ++k) {
      const Tap tap = map.order.at(k0 + k);
      const std::int64_t i = map.input(column, tap), j = map.weight(at.group, at.row, tap);
      a[k] = i < 0 ? 0 : shorten(chain.format, x[i]);
      b[k] = j < 0 ? 0 : shorten(chain.format, w[j]);
    }
    sum = block_step(step, chain.format, chain.format, a, b, chain.terms, sum);
  }
  return sum;
}

/// ThreePassTf32Mma: small and large products apart, every step from zero, added in fp32.
template <class Map>
float three_pass(const Map& map, const OutputPlace& at, const float* x, const float* w) {
  constexpr OperandFormat kFormat = OperandFormat::tf32_rna;
  const BlockStep step{.terms = 8, .frac = 25};
  const auto column = map.column(at.image, at.group, at.position);
  float small = 0, large = 0;
  for (int k0 = 0; k0 < map.order.depth(); k0 += 8) {
    float xh[8] = {}, xl[8] = {}, wh[8] = {}, wl[8] = {};
    for (int k = 0; k < 8; ++k) {
      const Tap tap = map.order.at(k0 + k);
      const std::int64_t i = map.input(column, tap), j = map.weight(at.group, at.row, tap);
      const float xv = i < 0 ? 0 : x[i], wv = j < 0 ? 0 : w[j];
      xh[k] = to_tf32<Tf32Rounding::rna>(xv);
      xl[k] = to_tf32<Tf32Rounding::rna>(xv - xh[k]);
      wh[k] = to_tf32<Tf32Rounding::rna>(wv);
      wl[k] = to_tf32<Tf32Rounding::rna>(wv - wh[k]);
    }
    small += block_step(step, kFormat, kFormat, xl, wh, 8, 0);
    small += block_step(step, kFormat, kFormat, xh, wl, 8, 0);
    large += block_step(step, kFormat, kFormat, xh, wh, 8, 0);
  }
  return small + large;
}

template <class Map, class Output>
void expect_plan(const char* name, const std::string& text, const Problem& p, const Map& map,
                 const VariantInputs& d, Output output) {
  SCOPED_TRACE(text + " on " + to_string(p));
  for (const Variant* v : variants_of(p.params.op))  // absent in builds without CUDA
    if (v->name == name) {
      EXPECT_EQ(v->plan(p, v->modes.front()), text) << name;
    }
  const Contraction c = lower(p);
  std::vector<std::uint32_t> predicted(static_cast<std::size_t>(c.outputs()));
  replay(*parse_plan(text), c, d.operands(), 0, c.outputs(), predicted.data(), 1);
  for (std::int64_t o = 0; o < c.outputs(); ++o) {
    const OutputPlace at = place_of(map, o);
    float y = output(map, at, d.a.as<float>(), d.b.as<float>());
    if (p.params.bias) y += d.bias.as<float>()[bias_index(c, o)];
    ASSERT_EQ(bits_of(y), predicted[static_cast<std::size_t>(o)])
        << "output " << o << ": " << y << " for " << float_of(predicted[static_cast<std::size_t>(o)]);
  }
}

template <class Map, class MakeMap>
void expect_all(const Problem& p, const std::string& order8, const std::string& order16,
                const VariantInputs& d, MakeMap make) {
  const auto chain = [](OperandFormat format, int terms) {
    return [=](const Map& map, const OutputPlace& at, const float* x, const float* w) {
      return single_pass(map, at, x, w, {format, terms});
    };
  };
  expect_plan("tf32_mma", "tf32_rna | block 8 frac 25 rz | order " + order8, p, make(8), d,
              chain(OperandFormat::tf32_rna, 8));
  expect_plan("tf32_wgmma", "tf32_rne | block 8 frac 25 rz | order " + order8, p, make(8), d,
              chain(OperandFormat::tf32_rne, 8));
  expect_plan("bf16_mma", "bf16 | block 16 frac 25 rz | order " + order16, p, make(16), d,
              chain(OperandFormat::bf16, 16));
  expect_plan("fp16_mma", "fp16 | block 16 frac 25 rz | order " + order16, p, make(16), d,
              chain(OperandFormat::fp16, 16));
  expect_plan("tf32x3_mma",
              "tf32_rna passes lo*hi hi*lo hi*hi | block 8 frac 25 rz | order " + three_pass_order(order8) +
                  " | split 2 of pass | chunks 8",
              p, make(8), d, [](const Map& map, const OutputPlace& at, const float* x, const float* w) {
                return three_pass(map, at, x, w);
              });
}

TEST(TensorCorePlans, Conv2d) {
  Random pick{std::mt19937_64(51)};
  for (int i = 0; i < 24; ++i) {
    Problem p = random_problem(i % 4 ? "conv2d" : "conv1d", pick);
    p.b[1] = pick(1, 40);
    p.a[1] = p.b[1] * p.params.groups;
    const VariantInputs d = random_inputs(p, DType::f32, i % 3 ? Values::uniform : Values::integers, pick);
    expect_all<Conv2dMap>(p, conv2d_order(p, 8), conv2d_order(p, 16), d,
                          [&](int chunk) { return conv2d_map(p, chunk); });
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST(TensorCorePlans, ConvTranspose1d) {
  Random pick{std::mt19937_64(52)};
  for (int i = 0; i < 24; ++i) {
    Problem p = random_problem("conv_transpose1d", pick);
    p.b[0] = p.a[1] = p.params.groups * pick(1, 40);
    const VariantInputs d = random_inputs(p, DType::f32, i % 3 ? Values::uniform : Values::integers, pick);
    expect_all<ConvTranspose1dMap>(p, conv_transpose1d_order(8), conv_transpose1d_order(16), d,
                                   [&](int chunk) { return conv_transpose1d_map(p, chunk); });
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

// Three passes recover what TF32 loses: the error against the terms summed in long double is fp32's, not
// TF32's.
TEST(TensorCorePlans, ThreePassesRecoverSinglePrecision) {
  Random pick{std::mt19937_64(53)};
  Problem p;
  p.params.op = "conv2d";
  p.a = {1, 64, 16, 16};
  p.b = {8, 64, 1, 1};
  const VariantInputs d = random_inputs(p, DType::f32, Values::uniform, pick);
  const Contraction c = lower(p);
  const Conv2dMap map = conv2d_map(p, 8);
  long double worst_one = 0, worst_three = 0;  // in units of 2^-24 * S
  for (std::int64_t o = 0; o < c.outputs(); ++o) {
    long double sum = 0, magnitude = 0;
    for (const Term& t : terms_of(c, o)) {
      const long double term = static_cast<long double>(d.a.as<float>()[t.a]) * d.b.as<float>()[t.b];
      sum += term;
      magnitude += std::abs(term);
    }
    const OutputPlace at = place_of(map, o);
    const auto scaled = [&](float y) { return std::abs(y - sum) / (magnitude * 0x1p-24L); };
    worst_three = std::max(worst_three, scaled(three_pass(map, at, d.a.as<float>(), d.b.as<float>())));
    worst_one = std::max(worst_one, scaled(single_pass(map, at, d.a.as<float>(), d.b.as<float>(),
                                                       {OperandFormat::tf32_rna, 8})));
  }
  EXPECT_LT(worst_three, 8) << "2^-21 of the products' magnitude, the promise";
  EXPECT_GT(worst_one, 100 * worst_three);
}

}  // namespace
}  // namespace ulpscope
