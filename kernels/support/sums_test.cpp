// The kernels' sums and index maps, run on the CPU: what a CUDA variant's scalar arithmetic gives must be
// what its declared plan, replayed, predicts. (Tensor-core steps are replayed against recorded hardware
// elsewhere.)
#include "kernels/support/sums.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"
#include "kernels/support/gather.hpp"
#include "reference/operators/random_problem.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

struct Data {
  Tensor x, w, bias;
};

Tensor random_tensor(const Shape& shape, int kind, Random& pick) {
  Tensor t = make_tensor(DType::f32, shape);
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const auto v = static_cast<float>(pick(-(1 << 23), 1 << 23));
    // Ties of the TF32 roundings are common in these; subnormal products; plain numbers.
    t.as<float>()[i] =
        kind == 0 ? static_cast<float>(pick(-4095, 4095)) : v * (kind == 1 ? 0x1p-90f : 0x1p-23f);
  }
  return t;
}

template <class Sum, class Map>
void expect_plan(const std::string& text, const Problem& p, const Map& map, const Data& d) {
  SCOPED_TRACE(text + " on " + to_string(p));
  const Contraction c = lower(p);
  std::vector<std::uint32_t> predicted(static_cast<std::size_t>(c.outputs()));
  const Operands operands{d.x.view(), d.w.view(), p.params.bias ? d.bias.view() : TensorView{}};
  replay(*parse_plan(text), c, operands, 0, c.outputs(), predicted.data(), 1);
  for (std::int64_t o = 0; o < c.outputs(); ++o) {
    const float y = gather<Sum>(map, place_of(map, o), d.x.as<float>(), d.w.as<float>(),
                                p.params.bias ? d.bias.as<float>() : nullptr);
    ASSERT_EQ(bits_of(y), predicted[static_cast<std::size_t>(o)])
        << "output " << o << ": " << y << " for " << float_of(predicted[static_cast<std::size_t>(o)]);
  }
}

/// The plan that the file of variant `name` declares; empty if this build has no CUDA variants.
std::string declared(const char* op, const char* name, const Problem& p) {
  for (const Variant* v : variants_of(op))
    if (v->name == name) return v->plan(p, v->modes.front());
  return "";
}

// In builds without CUDA the variants' files are absent, so the text stands here too, and must be the
// declared one.
template <class Sum, class Map>
void expect_variant(const char* name, const std::string& text, const Problem& p, const Map& map,
                    const Data& d) {
  const std::string plan = declared(p.params.op.c_str(), name, p);
  if (!plan.empty()) {
    EXPECT_EQ(plan, text) << name;
  }
  expect_plan<Sum>(text, p, map, d);
}

Data random_data(const Problem& p, int kind, Random& pick) {
  Data d{random_tensor(p.a, kind, pick), random_tensor(p.b, kind, pick), {}};
  if (p.params.bias) d.bias = random_tensor(bias_shape(p), kind, pick);
  return d;
}

/// More channels than random_problem has: chunks, lanes and slices must be crossed.
void deepen(Problem& p, std::int64_t channels) {
  p.a[1] = channels * p.params.groups;
  if (p.params.op == "conv_transpose1d")
    p.b[0] = p.a[1];
  else
    p.b[1] = channels;
}

TEST(Sums, Conv2dPlansReplay) {
  Random pick{std::mt19937_64(31)};
  for (int i = 0; i < 45; ++i) {
    Problem p = random_problem(i % 4 ? "conv2d" : "conv1d", pick);
    deepen(p, pick(1, 21));
    const Data d = random_data(p, i % 3, pick);
    const std::string canonical = "order " + conv2d_order(p);
    const Conv2dMap map = conv2d_map(p);
    expect_variant<FmaChain>("naive", "fp32 | fma | " + canonical, p, map, d);
    expect_variant<FmaChain>("register_128x128x8", "fp32 | fma | " + canonical, p, map, d);
    expect_variant<StridedChains<4>>("strided_4", "fp32 | fma | " + canonical + " | lanes 4", p, map, d);
    expect_variant<ChunkedChains<16>>("chunks_16", "fp32 | fma | " + canonical + " | chunks 16", p, map, d);
    expect_variant<DoubleChain>("double_chain", "fp32 | fma fp64 | " + canonical, p, map, d);
    expect_variant<Kahan>("kahan", "fp32 | kahan_fma | " + canonical, p, map, d);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST(Sums, ConvTranspose1dPlansReplay) {
  Random pick{std::mt19937_64(32)};
  for (int i = 0; i < 45; ++i) {
    Problem p = random_problem("conv_transpose1d", pick);
    deepen(p, pick(1, 21));
    const Data d = random_data(p, i % 3, pick);
    const ConvTranspose1dMap map = conv_transpose1d_map(p);
    expect_variant<FmaChain>("gather_c_k", "fp32 | fma | order c kw", p, map, d);
    expect_variant<FmaChain>("gather_k_c", "fp32 | fma | order kw c", p, conv_transpose1d_map(p, 0), d);
    expect_variant<FmaChain>("tile_64x64x8", "fp32 | fma | order c/8 kw c", p, conv_transpose1d_map(p, 8), d);
    expect_variant<FloatProductDoubleSum>("float_product_double_sum", "fp32 | mul_add fp32 fp64 | order c kw",
                                          p, map, d);
    expect_variant<DoubleChain>("double_chain", "fp32 | fma fp64 | order c kw", p, map, d);
    expect_variant<Kahan>("kahan", "fp32 | kahan_fma | order c kw", p, map, d);
    expect_variant<LaneTree<32>>("warp_tree_32", "fp32 | fma | order c kw | lanes 32 butterfly", p, map, d);
    expect_variant<Tf32FmaChain<Tf32Rounding::rne>>("tf32_rne_fma", "tf32_rne | fma | order c kw", p, map, d);
    expect_variant<Tf32FmaChain<Tf32Rounding::rna>>("tf32_rna_fma", "tf32_rna | fma | order c kw", p, map, d);
    expect_variant<Tf32FmaChain<Tf32Rounding::rz>>("tf32_rz_fma", "tf32_rz | fma | order c kw", p, map, d);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

// scatter_atomics: chains of 8 channels of a tap, added in any order, here from the last to the first.
TEST(Sums, ScatteredChunksAreReachable) {
  Random pick{std::mt19937_64(35)};
  const std::string text = "fp32 | fma | order c/8 kw c | chunks 8 unordered";
  for (int i = 0; i < 20; ++i) {
    Problem p = random_problem("conv_transpose1d", pick);
    deepen(p, pick(9, 16));  // two chunks of at most three taps
    const std::string plan = declared("conv_transpose1d", "scatter_atomics", p);
    if (!plan.empty()) {
      EXPECT_EQ(plan, text);
    }
    const Data d = random_data(p, 2, pick);
    const Contraction c = lower(p);
    const ConvTranspose1dMap map = conv_transpose1d_map(p, 8);
    for (std::int64_t o = 0; o < c.outputs(); ++o) {
      const OutputPlace at = place_of(map, o);
      const auto column = map.column(at.image, at.group, at.position);
      float sum = 0;
      for (int chunk = map.order.depth() / 8 - 1; chunk >= 0; --chunk) {
        float part = 0;
        bool any = false;
        for (int k = chunk * 8; k < chunk * 8 + 8; ++k) {
          const std::int64_t e = map.input(column, map.order.at(k));
          if (e < 0) continue;
          part = fma_rn(d.x.as<float>()[e], d.w.as<float>()[map.weight(at.group, at.row, map.order.at(k))],
                        part);
          any = true;
        }
        if (any) sum = add_rn(sum, part);
      }
      if (p.params.bias) sum = add_rn(sum, d.bias.as<float>()[bias_index(c, o)]);
      const Operands operands{d.x.view(), d.w.view(), p.params.bias ? d.bias.view() : TensorView{}};
      ASSERT_TRUE(reachable(*parse_plan(text), c, operands, o, bits_of(sum)))
          << to_string(p) << " output " << o;
    }
  }
}

// The check itself: a neighbouring order must not pass for the declared one.
TEST(Sums, AnotherOrderGivesOtherBits) {
  Random pick{std::mt19937_64(33)};
  Problem p;
  p.params.op = "conv_transpose1d";
  p.a = {1, 24, 40};
  p.b = {24, 3, 5};
  const Data d = random_data(p, 2, pick);
  const Contraction c = lower(p);
  std::vector<std::uint32_t> predicted(static_cast<std::size_t>(c.outputs()));
  replay(*parse_plan("fp32 | fma | order kw c"), c, {d.x.view(), d.w.view(), {}}, 0, c.outputs(),
         predicted.data(), 1);
  const ConvTranspose1dMap map = conv_transpose1d_map(p);
  int same = 0;
  for (std::int64_t o = 0; o < c.outputs(); ++o)
    same += bits_of(gather<FmaChain>(map, place_of(map, o), d.x.as<float>(), d.w.as<float>(),
                                     static_cast<const float*>(nullptr))) ==
            predicted[static_cast<std::size_t>(o)];
  EXPECT_LT(same, static_cast<int>(c.outputs()));
}

TEST(Sums, NeutralZerosChangeNothing) {
  // What a tile's empty places add, after a sum that is -0, and after an ordinary one.
  const auto check = [](auto sum) {
    using Sum = decltype(sum);
    for (const float first : {1.0f, -0x1p-100f}) {
      Sum alone, padded;
      alone.add(first, first > 0 ? 3.0f : 0x1p-100f, 0);  // -2^-200 rounds to -0
      padded = alone;
      for (int k = 1; k < Sum::period; ++k) padded.add(-0.0f, 0.0f, k);
      if (Sum::period == 1) padded.add(-0.0f, 0.0f, 1);
      EXPECT_EQ(bits_of(alone.result()), bits_of(padded.result()));
    }
  };
  check(FmaChain{});
  check(ChunkedChains<16>{});
  check(DoubleChain{});
  check(FloatProductDoubleSum{});
}

// Every declared plan in the registry parses, whatever built this binary.
TEST(Variants, DeclaredPlansParse) {
  Random pick{std::mt19937_64(34)};
  for (const Variant& v : variants()) {
    const Problem p = random_problem(v.op, pick);
    for (Mode mode : v.modes) {
      const std::string text = v.plan ? v.plan(p, mode) : "";
      if (!text.empty()) {
        EXPECT_NO_THROW(parse_plan(text)) << v.op << " " << v.name << ": " << text;
      }
    }
  }
}

}  // namespace
}  // namespace ulpscope
