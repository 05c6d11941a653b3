#include "harness/transform_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/window_norm.hpp"
#include "harness/winograd.hpp"
#include "kernels/vendor/conv_geometry.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

using vendor::ConvGeometry;
using vendor::Direction;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = 0x1p-24;       // fp32
constexpr double kSmallest = 0x1p-149;  // twice what an fp32 underflow loses

/// What becomes of numbers on their way into the products.
struct Shortening {
  double step = kUnit;           // relative error of every operation of an operand's transform
  double final = 0;              // of rounding the transformed operand
  double underflow = kSmallest;  // absolute error of an operation
  double largest = std::numeric_limits<float>::max();
};

Shortening shortening_of(Mode mode, DType in) {
  // 16-bit engines may transform in the operands' format; the roundings' widest are truncations.
  if (in == DType::f16 || mode == Mode::fp16) return {0x1p-10, 0x1p-10, 0x1p-24, 65504};
  if (in == DType::bf16 || mode == Mode::bf16) return {0x1p-7, 0x1p-7, kSmallest, 0x1p127};
  if (mode == Mode::tf32) return {kUnit, 0x1p-10, kSmallest, 0x1p127};
  return {};
}

/// Relative error of a sum of n products in any order, by FMA or a tensor core of any generation (a step of
/// at least 4 terms truncates up to 5 of them and the result at 2^-23).
double summing(double n, bool tensor_cores) {
  return std::max((n + 1) * kUnit, tensor_cores ? (n / 4 + 1) * 6 * 0x1p-23 : 0.0);
}

/// The convolution as a correlation of data with filters: which sizes matter to a transform.
struct Correlation {
  Shape extent, taps, reach;  // per spatial axis: of the data; of the filter; of stride and dilation together
  double sums = 1;            // tiles' products that are added up for one output
  double data = 0, largest_data = 0;      // norm of the data that one output can see; largest element
  double filter = 0, largest_filter = 0;  // norm of the filter of one output
  double filter_elements = 1;             // of one channel
};

Shape spatial(const Shape& s) {
  return {s.begin() + 2, s.end()};
}

TensorView shaped(TensorView t, const Shape& shape) {
  t.shape = shape;
  return t;
}

/// Largest norm of the weights [K, C/groups, taps...] that meet in one output: of one k, or of one c.
WindowNorm filter_norm(const TensorView& w, const ConvGeometry& g, int threads) {
  const Shape whole = spatial(g.w);
  if (g.direction == Direction::forward)  // every k is an image with the channels of a group
    return largest_window_norm(shaped(w, g.w), 1, whole, threads);
  // A channel of C meets the K / groups filters of its group: all images of that group.
  const std::int64_t per_group = g.w[0] / g.groups, elements_of_group = elements(g.w) / g.groups;
  WindowNorm found;
  for (std::int64_t group = 0; group < g.groups; ++group) {
    TensorView part = shaped(w, g.w);
    part.shape[0] = per_group;
    part.data = static_cast<const char*>(w.data) + group * elements_of_group * size_of(w.dtype);
    const WindowNorm n = largest_channel_norm(part, threads);
    found.norm = std::max(found.norm, n.norm);
    found.largest = std::max(found.largest, n.largest);
  }
  return found;
}

/// `window` per axis is how far a transformed tile reaches; as large as the data for the FFT.
Correlation correlation_of(const ConvGeometry& g, const Operands& operands, bool whole_image,
                           const Shape& window, int threads) {
  Correlation c;
  const bool weights = g.direction == Direction::backward_filter;
  const Shape& data = g.direction == Direction::backward_data ? g.y : g.x;
  c.extent = spatial(data);
  c.taps = spatial(g.w);
  WindowNorm d, f;
  if (weights) {
    // Sums over images and tiles: Cauchy-Schwarz over all of them. With tiles of m gradients a window reaches
    // m + taps - 1 positions, so that an element of x lies in at most points / 2 windows per axis.
    d = largest_channel_norm(shaped(operands.a, g.x), threads);
    f = largest_channel_norm(shaped(operands.b, g.y), threads);
    c.sums = static_cast<double>(g.x[0]);
    if (!whole_image)
      for (std::size_t i = 0; i < c.taps.size(); ++i) {
        if (c.taps[i] == 1) {
          c.sums *= static_cast<double>(g.y[i + 2]);
        } else {
          c.sums *= std::ceil(static_cast<double>(g.y[i + 2]) / 2);
          d.norm *= std::sqrt(kMostWinogradPoints / 2.0);
        }
      }
    c.filter_elements = static_cast<double>(elements(spatial(g.y)));
  } else {
    const bool forward = g.direction == Direction::forward;
    c.sums = static_cast<double>(forward ? g.w[1] : g.w[0] / g.groups);
    d = largest_window_norm(shaped(operands.a, data), g.groups, whole_image ? c.extent : window, threads);
    f = filter_norm(operands.b, g, threads);
    c.filter_elements = static_cast<double>(elements(c.taps));
  }
  c.data = d.norm;
  c.largest_data = d.largest;
  c.filter = f.norm;
  c.largest_filter = f.largest;
  return c;
}

OutputBound no_bound(const std::string& why) {
  return {kInfinity, 0, kInfinity, "no bound: " + why};
}

/// Per axis y = A^T [(G g) . (B^T d)]. Whatever the order and however common parts are shared, a transform by
/// a matrix of n columns rounds each term at most n + 1 times: its constant, the product, n - 1 sums. Axes
/// follow one another, so that roundings add up, and the magnitudes inside are at most
///   sum |A^T| (|G||g|) (|B^T||d|) <= w^axes ||g|| ||d||   (w: amplification; Cauchy-Schwarz over channels).
/// Compare Barabasz, Anderson, Soodhalter, Gregg, "Error analysis and improving the accuracy of Winograd
/// convolution for deep neural networks" (2020), theorems 2 and 3.
OutputBound winograd_bound(const ConvGeometry& g, const Shortening& s, bool tensor_cores,
                           const Operands& operands, int threads) {
  double amplified = 1, rows_at = 1, rows_g = 1, rows_bt = 1, growth = 0, roundings = 0;
  Shape window;
  std::string tiles;
  for (std::size_t i = 2; i < g.w.size(); ++i) {
    const auto taps = static_cast<int>(std::min<std::int64_t>(g.w[i], kMostWinogradPoints));
    // A stride cuts data and filter into interleaved parts; all of them lie within this reach.
    const std::int64_t reach = g.stride[i - 2] * g.dilation[i - 2];
    if (taps == 1) {
      window.push_back(reach);
      continue;
    }
    if (taps + 1 > kMostWinogradPoints)
      return no_bound(fmt::format("no Winograd transform is known for {} taps along an axis", g.w[i]));
    double widest = 0, at = 0, gg = 0, bt = 0;
    for (int m = 2; m + taps - 1 <= kMostWinogradPoints; ++m) {
      const WinogradTransforms t =
          g.direction == Direction::backward_filter ? winograd(taps, m) : winograd(m, taps);
      widest = std::max(widest, amplification(t));
      at = std::max(at, largest_row_sum(t.at, t.points()));
      gg = std::max(gg, largest_row_sum(t.g, t.taps));
      bt = std::max(bt, largest_row_sum(t.bt, t.points()));
    }
    amplified *= widest;
    rows_at *= at;
    rows_g *= gg;
    rows_bt *= bt;
    constexpr double kMost = kMostWinogradPoints + 1;  // roundings of a term in a transform of data or sums
    const double of_filter = g.direction == Direction::backward_filter ? kMostWinogradPoints : taps + 1;
    growth += (kMost + of_filter) * s.step + kMost * kUnit;
    roundings += 2 * kMost + of_filter;
    window.push_back(kMostWinogradPoints * reach);
    tiles += fmt::format("{}F(m,{})", tiles.empty() ? "" : " x ", taps);
  }
  const Correlation c = correlation_of(g, operands, false, window, threads);
  double sums = c.sums;
  for (const std::int64_t stride : g.stride) sums *= static_cast<double>(stride);
  // Two transformed operands and, between kernels, the products' sums are stored.
  growth += 3 * s.final + summing(sums, tensor_cores);
  const double factor = std::expm1(growth), size = amplified * c.data * c.filter;
  if (!std::isfinite(size)) return no_bound("an infinity or NaN spreads over the tile it is in");
  const double transformed = std::max(rows_bt * c.largest_data, rows_g * c.largest_filter);
  if (transformed * (1 + growth) > s.largest || rows_at * size > 0x1p127)
    return no_bound("a transformed value may overflow its format");
  const double lost = sums * rows_at * roundings *
                      (s.underflow * rows_bt * rows_g * (c.largest_data + c.largest_filter + 1) + kSmallest);
  return {
      0, factor * size + lost, kInfinity,
      fmt::format(
          "Winograd, tile unknown, widest {} of at most {} points: {:.4g} * {:.4g}*|x|*|w|, largest tile's "
          "|x| = {:.4g}, filter's |w| = {:.4g}",
          tiles.empty() ? "F(m,1)" : tiles, kMostWinogradPoints, factor, amplified, c.data, c.filter)};
}

/// With P = sum over channels of ||x|| ||w||, t stages of butterflies whose twiddles are right to 4 u, and
/// eps = t eta / (1 - t eta), eta = mu + gamma_4 (sqrt 2 + mu) (Higham, "Accuracy and Stability of Numerical
/// Algorithms", 2nd ed., theorem 24.2; a stage of radix 4 or 8 rounds less often than the stages of 2 it
/// stands for, and a transform of several axes has the stages of all of them):
/// - spectra of x and w are off by eps in the 2-norm; their products and sums by delta, so that the 1-norm of
/// the
///   error in the spectrum is at most N P ((1 + eps)^2 (1 + delta) - 1), and N times less in any output;
/// - the inverse transform adds eps times the 2-norm of what it yields: at most ||x|| ||w||_1 <= P
/// sqrt(elements of
///   w), and what the spectrum's own error yields.
OutputBound fft_bound(const ConvGeometry& g, const Shortening& s, bool tensor_cores, const Operands& operands,
                      int threads) {
  const Correlation c = correlation_of(g, operands, true, {}, threads);
  double points = 1;
  for (std::size_t i = 0; i < c.extent.size(); ++i) {
    const std::int64_t padded =
        std::max(g.x[i + 2], g.y[i + 2]) + 2 * (g.padding[i] + g.dilation[i] * (c.taps[i] - 1));
    points *= std::exp2(std::ceil(std::log2(static_cast<double>(std::max<std::int64_t>(1, padded)))));
  }
  // One stage more for packing real numbers as complex ones, one for the scaling.
  const double stages = std::log2(points) + 2, mu = 4 * s.step, gamma4 = 4 * s.step / (1 - 4 * s.step);
  const double eta = mu + gamma4 * (std::sqrt(2.0) + mu);
  const double eps = stages * eta / (1 - stages * eta);
  const double delta = std::expm1(std::sqrt(2.0) * (summing(2 * c.sums + 8, tensor_cores) + 3 * s.final));
  const double spectrum = (1 + eps) * (1 + eps) * (1 + delta) - 1;
  const double factor = spectrum + eps * (std::sqrt(c.filter_elements) + std::sqrt(points) * spectrum);
  const double size = c.data * c.filter;
  if (!std::isfinite(size)) return no_bound("an infinity or NaN spreads over the whole image");
  if (points * std::max({size, c.data, c.filter}) * 2 > s.largest || stages * eta > 0.5)
    return no_bound("a transformed value may overflow its format");
  const double lost = points * (stages + 2 * c.sums) * s.underflow * (c.data + c.filter + 1);
  return {0, factor * size + lost, kInfinity,
          fmt::format(
              "FFT of at most {:.0f} points: {:.4g}*|x|*|w|, largest image's |x| = {:.4g}, filter's |w| = "
              "{:.4g}",
              points, factor, c.data, c.filter)};
}

}  // namespace

Transform transform_of(const LaunchNotes& notes) {
  for (const std::string& note : notes.notes) {
    if (note == "WINOGRAD") return Transform::winograd;
    if (note == "FFT") return Transform::fft;
  }
  return Transform::none;
}

OutputBound bound_of_transform(Transform transform, const Problem& problem, Mode mode, DType in, DType out,
                               const Operands& operands, int threads) {
  if (transform == Transform::none) throw Error("a plain sum has the bound of its plan or mode");
  const ConvGeometry g = vendor::geometry_of(problem);
  const Shortening s = shortening_of(mode, in);
  const bool tensor_cores = s.final > 0;
  OutputBound b = transform == Transform::winograd ? winograd_bound(g, s, tensor_cores, operands, threads)
                                                   : fft_bound(g, s, tensor_cores, operands, threads);
  auto rounded_to = [&](DType format) {
    const double u = std::ldexp(1.0, -info(format).precision);
    b.per_s += u * (1 + b.per_s);
    b.absolute = b.absolute * (1 + u) + std::ldexp(1.0, info(format).emin - info(format).precision);
    b.formula += fmt::format(" + 2^-{}*(|s| + that)", info(format).precision);
  };
  if (b.per_s > 0) return b;  // none
  if (problem.params.bias) rounded_to(out == DType::f32 ? DType::f32 : out);
  if (out != DType::f32) rounded_to(out);
  b.overflow_s = std::max(0.0, std::ldexp(2.0, info(out).emax) * (1 - 0x1p-10) - 2 * b.absolute);
  b.per_s *= 1 + 0x1p-40;  // the doubles above were rounded a few dozen times
  b.absolute *= 1 + 0x1p-40;
  return b;
}

}  // namespace ulpscope
