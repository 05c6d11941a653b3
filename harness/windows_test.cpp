#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/capture.hpp"

namespace ulpscope {
namespace {

Contraction of(const std::string& text) {
  return lower(parse_case(text).problem);
}

bool covers(const std::vector<WindowRange>& windows, const std::function<bool(std::int64_t)>& wanted) {
  for (const WindowRange& w : windows)
    for (std::int64_t i = w.begin; i < w.begin + w.count; ++i)
      if (wanted(i)) return true;
  return false;
}

TEST(Windows, SmallOutputsAreKeptWhole) {
  const Contraction c = of("conv2d 2x64x17x33 * 128x64x1x1");
  EXPECT_EQ(plan_windows(c, DType::f32, 4 * c.outputs(), 1), (std::vector<WindowRange>{{0, c.outputs()}}));
}

TEST(Windows, AreSortedDisjointInsideAndWithinTheBudget) {
  for (const char* text :
       {"conv2d 16x64x1024x1024 * 128x64x1x1", "conv_transpose1d 32x32x131072 * 32x64x5 d3",
        "gemm 1031x8 * 8x4099", "conv3d 1x2x40x41x42 * 3x2x1x1x1"})
    for (const std::int64_t bytes :
         {std::int64_t{4}, std::int64_t{1000}, std::int64_t{64} << 10, std::int64_t{64} << 20}) {
      const Contraction c = of(text);
      const auto windows = plan_windows(c, DType::f32, bytes, 5);
      std::int64_t end = -1, total = 0;
      for (const WindowRange& w : windows) {
        EXPECT_GT(w.begin, end) << text;  // a gap between neighbours, or they would be one
        EXPECT_GE(w.count, 1);
        end = w.begin + w.count;
        total += w.count;
      }
      EXPECT_LE(end, c.outputs());
      EXPECT_LE(total * 4, std::max<std::int64_t>(bytes, 4 * c.outputs() <= bytes ? 4 * c.outputs() : bytes));
      EXPECT_EQ(plan_windows(c, DType::f32, bytes, 5), windows) << "the seed alone decides";
    }
}

TEST(Windows, HoldEdgesSeamsAndAFairSample) {
  const Contraction c = of("conv2d 4x3x700x900 * 130x3x1x1");  // 4x130x700x900
  const auto windows = plan_windows(c, DType::f32, 1 << 20, 9);
  const std::int64_t outputs = c.outputs();
  EXPECT_EQ(windows.front().begin, 0);
  EXPECT_EQ(windows.back().begin + windows.back().count, outputs);
  auto column = [](std::int64_t i) { return i % 900; };
  auto row = [](std::int64_t i) { return i / 900 % 700; };
  auto channel = [](std::int64_t i) { return i / (900 * 700) % 130; };
  auto batch = [](std::int64_t i) { return i / (900 * 700 * 130); };
  for (const std::int64_t edge : {0, 899})
    EXPECT_TRUE(covers(windows, [&](auto i) { return column(i) == edge; }));
  for (const std::int64_t edge : {0, 699})
    EXPECT_TRUE(covers(windows, [&](auto i) { return row(i) == edge; }));
  for (const std::int64_t edge : {0, 129})
    EXPECT_TRUE(covers(windows, [&](auto i) { return channel(i) == edge; }));
  for (const std::int64_t tile : {32, 64, 128, 256}) {
    // The last, partial tile, and both sides of its seam.
    for (const std::int64_t side : {-1, 0}) {
      EXPECT_TRUE(covers(windows, [&](auto i) { return column(i) == 899 / tile * tile + side; })) << tile;
      EXPECT_TRUE(covers(windows, [&](auto i) { return row(i) == 699 / tile * tile + side; })) << tile;
    }
  }
  EXPECT_TRUE(covers(windows, [&](auto i) { return channel(i) == 128; }));
  std::set<std::int64_t> batches, channels;
  for (const WindowRange& w : windows) {
    batches.insert(batch(w.begin));
    channels.insert(channel(w.begin));
  }
  EXPECT_EQ(batches.size(), 4u);
  EXPECT_GT(channels.size(), 60u);
  EXPECT_NE(plan_windows(c, DType::f32, 1 << 20, 10), windows);
}

}  // namespace
}  // namespace ulpscope
