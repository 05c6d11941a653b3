#include "harness/window_norm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

#include "reference/error.hpp"
#include "reference/parallel.hpp"

namespace ulpscope {
namespace {

// All sums here are of fewer than 2^40 non-negative doubles, each rounded once per addition.
constexpr double kRoundedUp = 1 + 0x1p-12;

std::int64_t spatial_size(const Shape& shape) {
  std::int64_t n = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) n *= shape[i];
  return n;
}

/// sums[i] += x[begin + i]^2.
void add_squares(const TensorView& t, std::int64_t begin, std::vector<double>& sums) {
  const auto n = static_cast<std::int64_t>(sums.size());
  if (t.dtype == DType::f32) {
    const float* x = static_cast<const float*>(t.data) + begin;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto v = static_cast<double>(x[i]);
      sums[static_cast<std::size_t>(i)] += v * v;
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = t.at(begin + i);
    sums[static_cast<std::size_t>(i)] += v * v;
  }
}

/// Sums of `width` neighbours along the middle axis of [outer, size, inner]; size shrinks to size - width
/// + 1.
void slide(std::vector<double>& x, std::int64_t outer, std::int64_t size, std::int64_t inner,
           std::int64_t width) {
  const std::int64_t left = size - width + 1;
  std::vector<double> sums(static_cast<std::size_t>(outer * left * inner));
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t q = 0; q < width; ++q)
      for (std::int64_t i = 0; i < left * inner; ++i)
        sums[static_cast<std::size_t>(o * left * inner + i)] +=
            x[static_cast<std::size_t>((o * size + q) * inner + i)];
  x = std::move(sums);
}

/// Maxima that any thread may raise; a NaN counts as infinite.
class Largest {
 public:
  void raise(double norm2, double element2) {
    std::lock_guard lock(guard_);
    norm2_ = std::max(norm2_, std::isfinite(norm2) ? norm2 : std::numeric_limits<double>::infinity());
    element2_ = std::max(element2_, element2);
  }
  WindowNorm result() const { return {std::sqrt(norm2_) * kRoundedUp, std::sqrt(element2_) * kRoundedUp}; }

 private:
  std::mutex guard_;
  double norm2_ = 0, element2_ = 0;
};

double largest_of(const std::vector<double>& x) {
  double largest = 0;
  for (const double v : x) largest = v > largest || std::isnan(v) ? v : largest;
  return largest;
}

}  // namespace

WindowNorm largest_window_norm(const TensorView& t, std::int64_t groups, const Shape& window, int threads) {
  if (t.shape.size() != window.size() + 2 || groups < 1 || t.shape[1] % groups != 0)
    throw Error("a window of " + to_string(window) + " does not fit a tensor " + to_string(t.shape));
  const std::int64_t size = spatial_size(t.shape), channels = t.shape[1] / groups;
  Largest found;
  parallel_for(t.shape[0] * groups, threads, [&](std::int64_t part) {
    std::vector<double> squares(static_cast<std::size_t>(size)), channel(squares.size());
    double element2 = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      std::fill(channel.begin(), channel.end(), 0);
      add_squares(t, (part * channels + c) * size, channel);
      for (std::size_t i = 0; i < channel.size(); ++i) {
        element2 = std::max(element2, channel[i]);
        squares[i] += channel[i];
      }
    }
    std::int64_t outer = 1, inner = size;
    for (std::size_t i = 0; i < window.size(); ++i) {
      const std::int64_t extent = t.shape[i + 2], width = std::min(window[i], extent);
      if (extent == 0) break;
      inner /= extent;
      slide(squares, outer, extent, inner, width);
      outer *= extent - width + 1;
    }
    found.raise(largest_of(squares), element2);
  });
  return found.result();
}

WindowNorm largest_channel_norm(const TensorView& t, int threads) {
  if (t.shape.size() < 2) throw Error("a tensor " + to_string(t.shape) + " has no channels");
  const std::int64_t size = spatial_size(t.shape), channels = t.shape[1];
  Largest found;
  parallel_for(channels, threads, [&](std::int64_t c) {
    double norm2 = 0, element2 = 0;
    std::vector<double> image(static_cast<std::size_t>(size));
    for (std::int64_t n = 0; n < t.shape[0]; ++n) {
      std::fill(image.begin(), image.end(), 0);
      add_squares(t, (n * channels + c) * size, image);
      for (const double v : image) {
        norm2 += v;
        element2 = std::max(element2, v);
      }
    }
    found.raise(norm2, element2);
  });
  return found.result();
}

}  // namespace ulpscope
