#include "harness/winograd.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "harness/window_norm.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

TEST(Winograd, EveryTransformIsACorrelation) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> digit(-9, 9);
  for (int taps = 1; taps <= 7; ++taps)
    for (int outputs = 1; outputs + taps - 1 <= kMostWinogradPoints; ++outputs) {
      const WinogradTransforms t = winograd(outputs, taps);
      const auto n = static_cast<std::size_t>(t.points()), r = static_cast<std::size_t>(taps);
      std::vector<double> g(r), d(n);
      for (double& x : g) x = digit(random);
      for (double& x : d) x = digit(random);
      std::vector<double> product(n);
      for (std::size_t i = 0; i < n; ++i) {
        double filter = 0, data = 0;
        for (std::size_t k = 0; k < r; ++k) filter += t.g[i * r + k] * g[k];
        for (std::size_t l = 0; l < n; ++l) data += t.bt[i * n + l] * d[l];
        product[i] = filter * data;
      }
      for (std::size_t j = 0; j < static_cast<std::size_t>(outputs); ++j) {
        double y = 0, expected = 0;
        for (std::size_t i = 0; i < n; ++i) y += t.at[j * n + i] * product[i];
        for (std::size_t k = 0; k < r; ++k) expected += g[k] * d[j + k];
        EXPECT_NEAR(y, expected, 1e-9) << "F(" << outputs << "," << taps << ")";
      }
    }
}

TEST(Winograd, AmplificationOfKnownTransforms) {
  EXPECT_DOUBLE_EQ(amplification(winograd(1, 1)), 1);
  // F(2,3) by hand: with B^T = [1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 -1 0 1], G = [1 0 0; .5 .5 .5; .5 -.5 .5; 0 0
  // 1], W of the first output is [1 1 2 0; 0 1 1 0; 0 1 1 0]: 10 in squares.
  EXPECT_NEAR(amplification(winograd(2, 3)), std::sqrt(10.0), 1e-12);
  EXPECT_GT(amplification(winograd(4, 3)), 5 * amplification(winograd(2, 3)));
}

TEST(Winograd, SizesBeyondThePointsAreRefused) {
  EXPECT_THROW(winograd(0, 3), Error);
  EXPECT_THROW(winograd(3, 0), Error);
  EXPECT_THROW(winograd(7, 3), Error);
}

TEST(WindowNorm, AgreesWithTheDefinition) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  Tensor t = make_tensor(DType::f32, {2, 6, 5, 7});
  for (std::int64_t i = 0; i < t.size(); ++i) t.as<float>()[i] = normal(random);
  for (const std::int64_t groups : {1, 2, 3})
    for (const Shape& window : {Shape{1, 1}, Shape{3, 2}, Shape{9, 4}, Shape{5, 7}}) {
      double largest = 0;
      for (std::int64_t n = 0; n < 2; ++n)
        for (std::int64_t g = 0; g < groups; ++g)
          for (std::int64_t y = 0; y < 5; ++y)
            for (std::int64_t x = 0; x < 7; ++x) {
              double sum = 0;
              for (std::int64_t c = g * 6 / groups; c < (g + 1) * 6 / groups; ++c)
                for (std::int64_t i = y; i < std::min<std::int64_t>(5, y + window[0]); ++i)
                  for (std::int64_t j = x; j < std::min<std::int64_t>(7, x + window[1]); ++j)
                    sum += std::pow(static_cast<double>(t.as<float>()[((n * 6 + c) * 5 + i) * 7 + j]), 2);
              largest = std::max(largest, std::sqrt(sum));
            }
      const WindowNorm found = largest_window_norm(t.view(), groups, window, 2);
      EXPECT_GE(found.norm, largest);
      EXPECT_LE(found.norm, largest * 1.001);
    }
  double largest = 0;
  for (std::int64_t c = 0; c < 6; ++c) {
    double sum = 0;
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t i = 0; i < 35; ++i)
        sum += std::pow(static_cast<double>(t.as<float>()[(n * 6 + c) * 35 + i]), 2);
    largest = std::max(largest, std::sqrt(sum));
  }
  EXPECT_NEAR(largest_channel_norm(t.view(), 2).norm, largest, largest * 1e-3);
}

TEST(WindowNorm, NonFiniteDataAreInfinite) {
  Tensor t = make_tensor(DType::f32, {1, 1, 3});
  for (const float bad : {std::nanf(""), -HUGE_VALF}) {
    t.as<float>()[0] = 1, t.as<float>()[1] = bad, t.as<float>()[2] = 2;
    EXPECT_TRUE(std::isinf(largest_window_norm(t.view(), 1, {1}).norm));
    EXPECT_TRUE(std::isinf(largest_channel_norm(t.view()).norm));
  }
  EXPECT_THROW(largest_window_norm(t.view(), 2, {1}), Error);
  EXPECT_THROW(largest_window_norm(t.view(), 1, {1, 1}), Error);
}

}  // namespace
}  // namespace ulpscope
