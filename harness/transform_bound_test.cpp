// Convolutions by Winograd's method and by FFT, written here in fp32, against their bounds.
#include "harness/transform_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "harness/bound.hpp"
#include "harness/inputs.hpp"
#include "harness/judge_capture.hpp"
#include "harness/record.hpp"
#include "harness/winograd.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

using Int = std::int64_t;

std::vector<float> narrow(const std::vector<double>& x) {
  return {x.begin(), x.end()};
}

/// rows x columns times columns x width, every operation rounded to fp32.
std::vector<float> product(const std::vector<float>& matrix, const std::vector<float>& x, int rows,
                           int columns, int width) {
  std::vector<float> y(static_cast<std::size_t>(rows * width));
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < columns; ++k)
      for (int j = 0; j < width; ++j) {
        const float term =
            matrix[static_cast<std::size_t>(i * columns + k)] * x[static_cast<std::size_t>(k * width + j)];
        y[static_cast<std::size_t>(i * width + j)] += term;
      }
  return y;
}
std::vector<float> transposed(const std::vector<float>& x, int rows, int columns) {
  std::vector<float> y(x.size());
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      y[static_cast<std::size_t>(j * rows + i)] = x[static_cast<std::size_t>(i * columns + j)];
  return y;
}
/// M X M^T for a square X of `columns` rows.
std::vector<float> both_sides(const std::vector<float>& matrix, const std::vector<float>& x, int rows,
                              int columns) {
  const std::vector<float> half = transposed(product(matrix, x, rows, columns, columns), rows, columns);
  return transposed(product(matrix, half, rows, columns, rows), rows, rows);
}

struct Images {
  Int channels, size;  // square
  std::vector<float> x;
  float at(Int c, Int i, Int j) const {
    const bool inside = i >= 0 && i < size && j >= 0 && j < size;
    return inside ? x[static_cast<std::size_t>((c * size + i) * size + j)] : 0;
  }
};

/// y[o_y, o_x] of one image and one filter w [C, taps, taps], padding 1, by F(m x m, taps x taps).
std::vector<float> by_winograd(const Images& in, const float* w, int taps, int m) {
  const WinogradTransforms t = winograd(m, taps);
  const int n = t.points();
  const std::vector<float> at = narrow(t.at), g = narrow(t.g), bt = narrow(t.bt);
  const Int out = in.size + 3 - taps;
  std::vector<float> y(static_cast<std::size_t>(out * out));
  for (Int top = 0; top < out; top += m)
    for (Int left = 0; left < out; left += m) {
      std::vector<float> sum(static_cast<std::size_t>(n * n));
      for (Int c = 0; c < in.channels; ++c) {
        std::vector<float> tile(sum.size());
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < n; ++j)
            tile[static_cast<std::size_t>(i * n + j)] = in.at(c, top + i - 1, left + j - 1);
        const std::vector<float> filter(w + c * taps * taps, w + (c + 1) * taps * taps);
        const std::vector<float> v = both_sides(bt, tile, n, n), u = both_sides(g, filter, n, taps);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = std::fma(u[i], v[i], sum[i]);
      }
      const std::vector<float> result = both_sides(at, sum, m, n);
      for (int i = 0; i < m && top + i < out; ++i)
        for (int j = 0; j < m && left + j < out; ++j)
          y[static_cast<std::size_t>((top + i) * out + left + j)] =
              result[static_cast<std::size_t>(i * m + j)];
    }
  return y;
}

using Complex = std::complex<float>;

/// Radix 2 in place, `stride` apart; twiddles rounded from doubles. Not scaled.
void fft(Complex* x, std::size_t n, std::size_t stride, int sign) {
  if (n == 1) return;
  std::vector<Complex> even(n / 2), odd(n / 2);
  for (std::size_t i = 0; i < n / 2; ++i) even[i] = x[2 * i * stride], odd[i] = x[(2 * i + 1) * stride];
  fft(even.data(), n / 2, 1, sign);
  fft(odd.data(), n / 2, 1, sign);
  for (std::size_t i = 0; i < n / 2; ++i) {
    const double angle = sign * 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
    const Complex twiddle(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
    const Complex turned = twiddle * odd[i];
    x[i * stride] = even[i] + turned;
    x[(i + n / 2) * stride] = even[i] - turned;
  }
}
void fft2(std::vector<Complex>& x, std::size_t n, int sign) {
  for (std::size_t i = 0; i < n; ++i) fft(&x[i * n], n, 1, sign);
  for (std::size_t i = 0; i < n; ++i) fft(&x[i], n, n, sign);
}

std::vector<float> by_fft(const Images& in, const float* w, int taps) {
  std::size_t n = 1;
  while (n < static_cast<std::size_t>(in.size + 2)) n *= 2;
  std::vector<Complex> sum(n * n);
  for (Int c = 0; c < in.channels; ++c) {
    std::vector<Complex> data(n * n), filter(n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        data[i * n + j] = in.at(c, static_cast<Int>(i) - 1, static_cast<Int>(j) - 1);
    for (int i = 0; i < taps; ++i)
      for (int j = 0; j < taps; ++j)
        filter[static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j)] = w[(c * taps + i) * taps + j];
    fft2(data, n, -1);
    fft2(filter, n, -1);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += data[i] * std::conj(filter[i]);
  }
  fft2(sum, n, 1);
  const Int out = in.size + 3 - taps;
  std::vector<float> y;
  for (Int i = 0; i < out; ++i)
    for (Int j = 0; j < out; ++j)
      y.push_back(sum[static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j)].real() /
                  static_cast<float>(n * n));
  return y;
}

/// A convolution of one image with one filter, and its exact results.
struct Experiment {
  Problem problem;
  Images in;
  Tensor x, w;
  std::vector<double> exact, magnitude;
  double typical = 0;  // median size of a term

  Operands operands() const { return {x.view(), w.view(), {}}; }
};

template <class Draw>
Experiment experiment(Int channels, Int size, int taps, Draw&& draw) {
  Experiment e;
  e.problem.params.op = "conv2d";
  e.problem.params.padding = {1, 1, 0};
  e.problem.a = {1, channels, size, size};
  e.problem.b = {1, channels, taps, taps};
  e.x = make_tensor(DType::f32, e.problem.a);
  e.w = make_tensor(DType::f32, e.problem.b);
  for (Int i = 0; i < e.x.size(); ++i) e.x.as<float>()[i] = draw(true);
  for (Int i = 0; i < e.w.size(); ++i) e.w.as<float>()[i] = draw(false);
  e.in = {channels, size, {e.x.as<float>(), e.x.as<float>() + e.x.size()}};
  std::vector<double> terms;
  const Int out = size + 3 - taps;
  for (Int i = 0; i < out; ++i)
    for (Int j = 0; j < out; ++j) {
      double sum = 0, magnitude = 0;
      for (Int c = 0; c < channels; ++c)
        for (int k = 0; k < taps; ++k)
          for (int l = 0; l < taps; ++l) {
            const double term = static_cast<double>(e.in.at(c, i + k - 1, j + l - 1)) *
                                static_cast<double>(e.w.as<float>()[(c * taps + k) * taps + l]);
            sum += term;
            magnitude += std::fabs(term);
            terms.push_back(std::fabs(term));
          }
      e.exact.push_back(sum);
      e.magnitude.push_back(magnitude);
    }
  std::nth_element(terms.begin(), terms.begin() + static_cast<Int>(terms.size() / 2), terms.end());
  e.typical = terms[terms.size() / 2];
  return e;
}

Experiment uniform_experiment(Int channels, Int size, int taps) {
  std::mt19937 random(static_cast<unsigned>(channels * 100 + taps));
  std::uniform_real_distribution<float> draw(-1, 1);
  return experiment(channels, size, taps, [&](bool) { return draw(random); });
}

double largest_error(const Experiment& e, const std::vector<float>& y) {
  EXPECT_EQ(y.size(), e.exact.size());
  double largest = 0;
  for (std::size_t i = 0; i < y.size(); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>(y[i]) - e.exact[i]));
  return largest;
}

OutputBound bound_of(const Experiment& e, Transform transform, Mode mode = Mode::fp32) {
  return bound_of_transform(transform, e.problem, mode, DType::f32, DType::f32, e.operands(), 1);
}

TEST(TransformBound, HoldsForWinogradOfEveryTile) {
  for (const int taps : {3, 5})
    for (const Int channels : {1, 4, 64})
      for (int m = 2; m + taps - 1 <= kMostWinogradPoints; ++m) {
        const Experiment e = uniform_experiment(channels, 14, taps);
        const OutputBound bound = bound_of(e, Transform::winograd);
        const double error = largest_error(e, by_winograd(e.in, e.w.as<float>(), taps, m));
        EXPECT_GT(error, 0);
        EXPECT_LE(error, bound.absolute) << "F(" << m << "," << taps << ") " << bound.formula;
        EXPECT_EQ(bound.per_s, 0);
      }
}

TEST(TransformBound, HoldsForAnFft) {
  for (const int taps : {3, 5, 9})
    for (const Int channels : {1, 4, 32}) {
      const Experiment e = uniform_experiment(channels, 13, taps);
      const OutputBound bound = bound_of(e, Transform::fft);
      const double error = largest_error(e, by_fft(e.in, e.w.as<float>(), taps));
      EXPECT_GT(error, 0);
      EXPECT_LE(error, bound.absolute) << bound.formula;
    }
}

// What the bounds are good for: with few channels they see the loss of a single typical term. With many, the
// worst case over an unknown tile is larger than a term, and only larger mistakes stand out.
TEST(TransformBound, SeesALostTermOfFewChannelsOnly) {
  const Experiment few = uniform_experiment(2, 14, 3), many = uniform_experiment(128, 14, 3);
  for (const Transform t : {Transform::winograd, Transform::fft})
    EXPECT_LT(bound_of(few, t).absolute, few.typical);
  EXPECT_GT(bound_of(many, Transform::winograd).absolute, many.typical);
  EXPECT_LT(bound_of(many, Transform::fft).absolute, many.typical);
}

/// One bright pixel in the dark: results that do not touch it are as wrong as those that do.
Experiment bright_pixel() {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> draw(0.5f, 1);
  Int i = 0;
  return experiment(2, 12, 3, [&](bool data) { return draw(random) * (data && i++ == 66 ? 1e5f : 1e-1f); });
}

TEST(TransformBound, APlainSumsBoundWouldAccuseAnHonestTransform) {
  const Experiment e = bright_pixel();
  const OutputBound plain =
      bound_of_mode(Mode::fp32, DType::f32, DType::f32, lower(e.problem), e.operands(), 1);
  const std::vector<float> winograd = by_winograd(e.in, e.w.as<float>(), 3, 4),
                           fft = by_fft(e.in, e.w.as<float>(), 3);
  for (const auto& [y, transform] : {std::pair{winograd, Transform::winograd}, {fft, Transform::fft}}) {
    int beyond = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      beyond +=
          std::fabs(static_cast<double>(y[i]) - e.exact[i]) > plain.per_s * e.magnitude[i] + plain.absolute;
    EXPECT_GT(beyond, 0);
    EXPECT_LE(largest_error(e, y), bound_of(e, transform).absolute);
  }
}

/// What a Winograd engine would have left behind.
Capture winograd_capture(const Experiment& e) {
  Capture capture;
  capture.test.problem = e.problem;
  capture.test.name = "made here";
  capture.variant = "cudnn_winograd";
  capture.environment = nlohmann::json::object();
  capture.a = e.x;
  capture.b = e.w;
  capture.input_hash = inputs_from(e.x, e.w, {}).hash;
  const std::vector<float> y = by_winograd(e.in, e.w.as<float>(), 3, 4);
  Tensor bits = make_tensor(DType::f32, {static_cast<Int>(y.size())});
  std::copy(y.begin(), y.end(), bits.as<float>());
  capture.windows = {{0, bits}};
  return capture;
}

// Far within what rounding could do to a sum in general; but these sums need no rounding.
TEST(TransformBound, IntegersBetrayATransformThatNoNoteNames) {
  std::mt19937 random(11);
  std::uniform_int_distribution<int> draw(-4, 4);
  const Experiment e = experiment(16, 12, 3, [&](bool) { return static_cast<float>(draw(random)); });
  Capture capture = winograd_capture(e);
  InputsCache cache;
  const Result unnamed = judge_capture(capture, cache, ReplayChoice::none, 1);
  EXPECT_EQ(unnamed.judgement.verdict, Verdict::violated) << unnamed.judgement.reason;
  EXPECT_NE(unnamed.judgement.reason.find("are not exact"), std::string::npos) << unnamed.judgement.reason;
  EXPECT_EQ(unnamed.evidence.measured->bound, 0);
  EXPECT_LT(unnamed.evidence.measured->max_scaled, 100);
  capture.notes.notes = {"WINOGRAD"};
  EXPECT_EQ(judge_capture(capture, cache, ReplayChoice::none, 1).judgement.verdict, Verdict::bounded);
  // The sums themselves.
  for (std::size_t i = 0; i < e.exact.size(); ++i)
    capture.windows[0].bits.as<float>()[i] = static_cast<float>(e.exact[i]);
  capture.notes.notes.clear();
  EXPECT_EQ(judge_capture(capture, cache, ReplayChoice::none, 1).judgement.verdict, Verdict::identical);
}

TEST(TransformBound, JudgesACaptureByItsEnginesNotes) {
  const Experiment e = bright_pixel();
  Capture capture = winograd_capture(e);
  Tensor bits = capture.windows[0].bits;
  InputsCache cache;
  auto verdict = [&](std::vector<std::string> notes) {
    capture.notes.notes = std::move(notes);
    return judge_capture(capture, cache, ReplayChoice::none, 1);
  };
  // Beyond the bound of a plain sum, but no mistake in its weights.
  EXPECT_EQ(verdict({}).judgement.verdict, Verdict::violated) << verdict({}).judgement.reason;
  const Result r = verdict({"TENSOR_CORE", "WINOGRAD"});
  EXPECT_EQ(r.judgement.verdict, Verdict::bounded) << r.judgement.reason;
  EXPECT_TRUE(r.evidence.bound_formula.starts_with("Winograd")) << r.evidence.bound_formula;
  EXPECT_FALSE(r.expected_max);
  bits.as<float>()[40] += 100 * static_cast<float>(bound_of(e, Transform::winograd).absolute);
  EXPECT_EQ(verdict({"WINOGRAD"}).judgement.verdict, Verdict::violated);
}

// cuDNN's own engines on an H200. The one for 5x5 taps is off by thousands of units: its bound allows that.
TEST(TransformBound, HoldsForRecordedEngines) {
  const Record record = judge_captures({ULPSCOPE_SOURCE_DIR "/reports/recorded/transforms-h200"},
                                       ReplayChoice::none, 2, {}, {}, false);
  ASSERT_EQ(record.results.size(), 3u);
  double largest = 0;
  for (const auto& r : record.results) {
    EXPECT_EQ(r["verdict"], "bounded") << r["reason"];
    const auto formula = r["bound_formula"].get<std::string>();
    EXPECT_TRUE(formula.starts_with(r["variant"] == "cudnn_fft" ? "FFT" : "Winograd")) << formula;
    largest = std::max(largest, r["error"]["max_abs"].get<double>());
  }
  EXPECT_GT(largest, 5e-4);
}

// One axis; the sum runs over images and tiles of the gradient: F(taps, m).
TEST(TransformBound, HoldsForTheWeightGradient) {
  std::mt19937 random(8);
  std::normal_distribution<float> draw;
  constexpr int kImages = 20, kLength = 48, kTaps = 3;
  Problem p;
  p.params.op = "conv1d_backward_weight";
  p.params.target = {kTaps};
  p.a = {kImages, 1, kLength + kTaps - 1};
  p.b = {kImages, 1, kLength};
  Tensor x = make_tensor(DType::f32, p.a), dy = make_tensor(DType::f32, p.b);
  for (Int i = 0; i < x.size(); ++i) x.as<float>()[i] = draw(random);
  for (Int i = 0; i < dy.size(); ++i) dy.as<float>()[i] = draw(random);
  const OutputBound bound = bound_of_transform(Transform::winograd, p, Mode::fp32, DType::f32, DType::f32,
                                               {x.view(), dy.view(), {}}, 1);
  for (const int m : {2, 3, 4, 6}) {
    const WinogradTransforms t = winograd(kTaps, m);
    const int n = t.points();
    std::vector<float> sum(static_cast<std::size_t>(n));
    for (Int image = 0; image < kImages; ++image)
      for (Int from = 0; from < kLength; from += m) {
        const float *data = x.as<float>() + image * (kLength + kTaps - 1) + from,
                    *gradient = dy.as<float>() + image * kLength + from;
        const std::vector<float> v = product(narrow(t.bt), {data, data + n}, n, n, 1),
                                 u = product(narrow(t.g), {gradient, gradient + m}, n, m, 1);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = std::fma(u[i], v[i], sum[i]);
      }
    const std::vector<float> dw = product(narrow(t.at), sum, kTaps, n, 1);
    for (Int k = 0; k < kTaps; ++k) {
      double exact = 0;
      for (Int image = 0; image < kImages; ++image)
        for (Int i = 0; i < kLength; ++i)
          exact += static_cast<double>(x.as<float>()[image * (kLength + kTaps - 1) + i + k]) *
                   static_cast<double>(dy.as<float>()[image * kLength + i]);
      EXPECT_LE(std::fabs(static_cast<double>(dw[static_cast<std::size_t>(k)]) - exact), bound.absolute)
          << bound.formula;
    }
  }
  EXPECT_LT(bound.absolute, 3);  // of sums whose size is about 30
}

TEST(TransformBound, ShortOperandsOutputsAndBiasWidenIt) {
  Experiment e = uniform_experiment(4, 10, 3);
  const OutputBound plain = bound_of(e, Transform::winograd),
                    tf32 = bound_of(e, Transform::winograd, Mode::tf32);
  EXPECT_GT(tf32.absolute, 100 * plain.absolute);
  const OutputBound half =
      bound_of_transform(Transform::winograd, e.problem, Mode::fp16, DType::f16, DType::f16, e.operands(), 1);
  EXPECT_GT(half.absolute, tf32.absolute);
  EXPECT_GE(half.per_s, 0x1p-11);
  e.problem.params.bias = true;
  EXPECT_GE(bound_of(e, Transform::fft).per_s, 0x1p-24);
}

TEST(TransformBound, GroupsAndTransposedConvolutionsSeeTheirOwnChannels) {
  // Two groups, the second of which is large: the bound is that of the second alone.
  std::mt19937 random(9);
  std::uniform_real_distribution<float> draw(-1, 1);
  for (const char* op : {"conv2d", "conv_transpose2d"}) {
    Problem both, one;
    both.params.op = one.params.op = op;
    both.params.groups = 2;
    both.a = {1, 4, 9, 9}, one.a = {1, 2, 9, 9};
    const bool forward = both.params.op == "conv2d";
    both.b = forward ? Shape{6, 2, 3, 3} : Shape{4, 3, 3, 3};
    one.b = forward ? Shape{3, 2, 3, 3} : Shape{2, 3, 3, 3};
    Tensor a = make_tensor(DType::f32, both.a), b = make_tensor(DType::f32, both.b);
    for (Int i = 0; i < a.size(); ++i) a.as<float>()[i] = draw(random) * (i < a.size() / 2 ? 1e-3f : 1);
    for (Int i = 0; i < b.size(); ++i) b.as<float>()[i] = draw(random) * (i < b.size() / 2 ? 1e-3f : 1);
    const TensorView a2{a.as<float>() + a.size() / 2, DType::f32, one.a},
        b2{b.as<float>() + b.size() / 2, DType::f32, one.b};
    for (const Transform t : {Transform::winograd, Transform::fft})
      EXPECT_DOUBLE_EQ(
          bound_of_transform(t, both, Mode::fp32, DType::f32, DType::f32, {a.view(), b.view(), {}}, 1)
              .absolute,
          bound_of_transform(t, one, Mode::fp32, DType::f32, DType::f32, {a2, b2, {}}, 1).absolute)
          << op;
  }
}

TEST(TransformBound, NothingIsClaimedWhereNothingIsKnown) {
  Experiment wide = uniform_experiment(1, 14, 9);
  EXPECT_TRUE(std::isinf(bound_of(wide, Transform::winograd).per_s));
  EXPECT_TRUE(bound_of(wide, Transform::winograd).formula.starts_with("no bound"));
  Experiment e = uniform_experiment(1, 6, 3);
  e.x.as<float>()[3] = HUGE_VALF;
  for (const Transform t : {Transform::winograd, Transform::fft}) {
    EXPECT_TRUE(std::isinf(bound_of(e, t).per_s));
    e.x.as<float>()[3] = 1e38f;
    EXPECT_TRUE(std::isinf(bound_of(e, t).per_s)) << "may overflow";
    e.x.as<float>()[3] = HUGE_VALF;
  }
  EXPECT_THROW(bound_of(e, Transform::none), Error);
  e.problem.params.op = "gemm";
  EXPECT_THROW(bound_of(e, Transform::fft), Error);
}

TEST(TransformBound, EnginesSayWhatTheyAre) {
  EXPECT_EQ(transform_of({"engine 1", {"TENSOR_CORE", "WINOGRAD"}, 0}), Transform::winograd);
  EXPECT_EQ(transform_of({"engine 2", {"FFT"}, 0}), Transform::fft);
  EXPECT_EQ(transform_of({"FFT", {"no FFT", "cuDNN 9"}, 0}), Transform::none);
}

}  // namespace
}  // namespace ulpscope
