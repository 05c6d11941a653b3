// Plans with tiles of A's image, against loops written from the kernel's point of view: tile by tile of A,
// each tile adds what it brings to the outputs around it.
#include "reference/replay/by_tile.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "reference/error.hpp"
#include "reference/operators.hpp"
#include "reference/plan.hpp"
#include "reference/plan/pixel_tiles.hpp"
#include "reference/search/search.hpp"
#include "reference/tree/tree.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kImages = 2, kIn = 5, kOut = 3, kHigh = 7, kWide = 11, kKh = 3, kKw = 2, kTile = 32;

Problem transposed() {
  Problem p;
  p.params.op = "conv_transpose2d";
  p.a = {kImages, kIn, kHigh, kWide};
  p.b = {kIn, kOut, kKh, kKw};
  return p;
}

struct Data {
  Tensor a = make_tensor(DType::f32, transposed().a), b = make_tensor(DType::f32, transposed().b);
  Data() {
    std::mt19937_64 rng(3);
    for (Tensor* t : {&a, &b})
      for (std::int64_t i = 0; i < t->size(); ++i)
        t->as<float>()[i] = static_cast<float>(rng() >> 40) * 0x1p-23f - 1;
  }
  Operands operands() const { return {a.view(), b.view(), {}}; }
};

float half(float x) {
  return static_cast<float>(value_of_bits(DType::f16, round_to_bits(DType::f16, static_cast<double>(x))));
}

// Scatter: for every tile of pixels, every output, taps in order, channels in order.
std::vector<float> scattered(const Data& d, bool kept) {
  constexpr std::int64_t oh = kHigh + kKh - 1, ow = kWide + kKw - 1;
  std::vector<float> y(kImages * kOut * oh * ow, 0.0f);
  for (std::int64_t tile = 0; tile * kTile < kHigh * kWide; ++tile)
    for (std::int64_t o = 0; o < std::ssize(y); ++o) {
      const std::int64_t x = o % ow, r = o / ow % oh, m = o / (ow * oh) % kOut, n = o / (ow * oh * kOut);
      float brought = 0;
      bool any = false;
      for (std::int64_t kh = 0; kh < kKh; ++kh)
        for (std::int64_t kw = 0; kw < kKw; ++kw) {
          const std::int64_t i = r - kh, j = x - kw;
          if (i < 0 || i >= kHigh || j < 0 || j >= kWide || (i * kWide + j) / kTile != tile) continue;
          float tap = 0;
          for (std::int64_t c = 0; c < kIn; ++c)
            tap = std::fma(d.a.as<float>()[((n * kIn + c) * kHigh + i) * kWide + j],
                           d.b.as<float>()[((c * kOut + m) * kKh + kh) * kKw + kw], tap);
          brought += tap;
          any = true;
        }
      if (!any) continue;
      float& sum = y[static_cast<std::size_t>(o)];
      sum += brought;
      if (kept) sum = half(sum);
    }
  return y;
}

TEST(PixelTiles, ReplayIsTheScatteringKernel) {
  const Data d;
  const Contraction c = lower(transposed());
  for (const bool kept : {false, true}) {
    const auto plan =
        parse_plan(kept ? "fp32 | fma | order kh kw c | tiles 32 seq kept fp16 | chunks 5 | out fp16"
                        : "fp32 | fma | order kh kw c | tiles 32 | chunks 5");
    const std::vector<float> want = scattered(d, kept);
    std::vector<std::uint32_t> bits(want.size()), late(want.size() - 100);
    replay(*plan, c, d.operands(), 0, c.outputs(), bits.data(), 2);
    replay(*plan, c, d.operands(), 100, c.outputs() - 100, late.data(), 1);
    std::vector<std::uint32_t> untiled(want.size());
    replay(*parse_plan(kept ? "fp32 | fma | order kh kw c | chunks 5 | out fp16"
                            : "fp32 | fma | order kh kw c | chunks 5"),
           c, d.operands(), 0, c.outputs(), untiled.data(), 1);
    int others = 0;
    for (std::size_t o = 0; o < want.size(); ++o) {
      const std::uint32_t expected =
          kept ? static_cast<std::uint32_t>(round_to_bits(DType::f16, static_cast<double>(want[o])))
               : std::bit_cast<std::uint32_t>(want[o]);
      ASSERT_EQ(bits[o], expected) << o;
      if (o >= 100) {
        ASSERT_EQ(late[o - 100], expected) << o;
      }
      others += untiled[o] != expected;
    }
    EXPECT_GT(others, kept ? 5 : 50);  // the seams tell
  }
}

TEST(PixelTiles, TheSearchFindsThem) {
  const Data d;
  const Contraction c = lower(transposed());
  const std::vector<float> want = scattered(d, false);
  Observation seen;
  for (std::size_t o = 0; o < want.size(); ++o) {
    seen.outputs.push_back(static_cast<std::int64_t>(o));
    seen.bits.push_back(std::bit_cast<std::uint32_t>(want[o]));
  }
  SearchOptions options;
  options.operands = {OperandFormat::fp32};
  const SearchResult r = find_plans(c, d.operands(), seen, options);
  ASSERT_FALSE(r.plans.empty()) << r.best_share << " " << r.best_plan;
  EXPECT_EQ(r.plans[0], "fp32 | fma | order kh kw c | tiles 32 seq | chunks 5 seq");
  // One bit that no tile explains.
  seen.bits[77] ^= 1;
  options.seconds = 1;
  const SearchResult wrong = find_plans(c, d.operands(), seen, options);
  EXPECT_TRUE(wrong.plans.empty());
}

TEST(PixelTiles, TreeAndBoundKnowOfThem) {
  const Data d;
  const Contraction c = lower(transposed());
  const auto tiled = parse_plan("fp32 | fma | order kh kw c | tiles 32 | chunks 5"),
             plain = parse_plan("fp32 | fma | order kh kw c | chunks 5");
  constexpr std::int64_t ow = kWide + kKw - 1;
  // Pixels 0 and 1 share a tile; those of rows 1 to 3 do not.
  EXPECT_TRUE(compare(tree_of(*tiled, c, 1), tree_of(*plain, c, 1)).same);
  EXPECT_FALSE(compare(tree_of(*tiled, c, 3 * ow + 4), tree_of(*plain, c, 3 * ow + 4)).same);
  EXPECT_GE(bound_of(*tiled, c, d.operands()).per_s, bound_of(*plain, c, d.operands()).per_s);
  EXPECT_EQ(pixels_of(c), kHigh * kWide);
}

TEST(PixelTiles, OperatorsWithoutAnImageRefuseThem) {
  Problem p;
  p.params.op = "gemm";
  p.a = {2, 3};
  p.b = {3, 2};
  const Contraction c = lower(p);
  const Tensor a = make_tensor(DType::f32, p.a), b = make_tensor(DType::f32, p.b);
  std::uint32_t bits[4];
  EXPECT_EQ(pixels_of(c), 0);
  EXPECT_THROW(replay(*parse_plan("fp32 | fma | tiles 32"), c, {a.view(), b.view(), {}}, 0, 4, bits, 1),
               Error);
  EXPECT_THROW(parse_plan("fp32 | fma | chunks 4 | tiles 32"), Error);
  EXPECT_THROW(parse_plan("fp32 | fma | chunks 4 tree kept fp16"), Error);
}

}  // namespace
}  // namespace ulpscope
