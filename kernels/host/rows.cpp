#include "kernels/host/rows.hpp"

#include <algorithm>
#include <numeric>

#include "reference/parallel.hpp"

namespace ulpscope::host {
namespace {

const float kOne = 1;

std::shared_ptr<float[]> widened(const void* data, DType dtype, std::int64_t n, int threads) {
  std::shared_ptr<float[]> floats(new float[static_cast<std::size_t>(n)]);
  constexpr std::int64_t kPiece = 1 << 16;
  parallel_for((n + kPiece - 1) / kPiece, threads, [&](std::int64_t piece) {
    const auto* bits = static_cast<const std::uint16_t*>(data);
    for (std::int64_t i = piece * kPiece; i < std::min(n, (piece + 1) * kPiece); ++i)
      floats[static_cast<std::size_t>(i)] = static_cast<float>(value_of_bits(dtype, bits[i]));
  });
  return floats;
}

std::int64_t quotient(std::int64_t n, std::int64_t d) {
  return d == 1 ? n : n / d;
}
std::int64_t ceil_div(std::int64_t n, std::int64_t d) {
  return d == 1 ? n : n > 0 ? (n + d - 1) / d : n / d;
}

}  // namespace

FloatOperands widen(const LaunchArgs& args) {
  const Contraction& c = *args.contraction;
  FloatOperands f;
  auto take = [&](int i, const void* data, std::int64_t n) -> const float* {
    if (data == nullptr || args.in_dtype == DType::f32) return static_cast<const float*>(data);
    auto& owned = f.owned[static_cast<std::size_t>(i)];
    owned = widened(data, args.in_dtype, n, args.threads);
    return owned.get();
  };
  f.a = take(0, args.a, c.a_size);
  f.b = c.b_is_ones ? &kOne : take(1, args.b, c.b_size);
  f.bias = c.has_bias ? take(2, args.bias, c.bias_size) : nullptr;
  return f;
}

std::int64_t row_limit(const LaunchArgs& args) {
  return args.shape.block > 0 ? std::min<std::int64_t>(kRow, args.shape.block) : kRow;
}

std::string shape_text(const LaunchArgs& args, std::int64_t limit) {
  return "rows of " + std::to_string(limit) + ", " +
         (args.threads > 0 ? std::to_string(args.threads) + " threads" : std::string("all cores"));
}

RowWalk::RowWalk(const Contraction& c, const FloatOperands& operands, std::int64_t limit)
    : c_(c), operands_(operands), limit_(limit) {
  // Rows run along the innermost axis, unless it is too short to be worth a vector loop.
  axis_ = c.out.size();
  for (std::size_t x = c.out.size(); x-- > 0;)
    if (axis_ == c.out.size() || (c.out[axis_].size < 16 && c.out[x].size > c.out[axis_].size)) axis_ = x;
  rows_ = c.outputs();
  if (axis_ == c.out.size()) return;
  axis_size_ = c.out[axis_].size;
  for (std::size_t x = axis_ + 1; x < c.out.size(); ++x) output_step_ *= c.out[x].size;
  pieces_ = ceil_div(axis_size_, limit_);
  rows_ = axis_size_ == 0 ? 0 : rows_ / axis_size_ * pieces_;
}

Row RowWalk::row(std::int64_t i) const {
  Row row;
  const std::int64_t from = i % pieces_ * limit_;
  i /= pieces_;
  std::int64_t stride = 1;
  for (std::size_t x = c_.out.size(); x-- > 0; stride *= c_.out[x].size) {
    if (x == axis_) {
      row.at[x] = from;
    } else {
      row.at[x] = i % c_.out[x].size;
      i /= c_.out[x].size;
    }
    row.output += row.at[x] * stride;
  }
  row.length = std::min(limit_, axis_size_ - from);
  return row;
}

std::int64_t RowWalk::bias_index(const Row& row) const {
  std::int64_t i = c_.bias_offset;
  for (std::size_t x = 0; x < c_.out.size(); ++x) i += row.at[x] * c_.out[x].bias_stride;
  return i;
}

std::int64_t RowWalk::bias_step() const {
  return axis_ < c_.out.size() ? c_.out[axis_].bias_stride : 0;
}

// Step r of a reduction axis: moves the term's elements, and keeps the outputs that have it. False if none
// has.
bool RowWalk::narrow(const Level& level, std::int64_t r, RowTerm& t) const {
  t.a += r * level.a_stride;
  t.b += r * level.b_stride;
  if (level.coupling == nullptr) return true;
  const Coupling& k = *level.coupling;
  const std::int64_t scaled = level.base + k.r_mul * r;  // divisor * coordinate, at the row's first output
  if (!level.along) {
    if (scaled < 0 || scaled >= k.extent * k.divisor || (k.divisor != 1 && scaled % k.divisor != 0))
      return false;
    t.a += quotient(scaled, k.divisor) * k.a_stride;
    return true;
  }
  // Outputs j with scaled + o_mul*j divisible and 0 <= (scaled + o_mul*j) / divisor < extent: an even
  // progression. Divisions by 1, the usual case, are left out: they would cost more than a short row's sums.
  std::int64_t first = scaled >= 0 ? 0 : ceil_div(-scaled, k.o_mul);
  const std::int64_t end = std::min(t.count, ceil_div(k.extent * k.divisor - scaled, k.o_mul));
  std::int64_t step = 1;
  if (k.divisor != 1) {
    step = k.divisor / std::gcd(k.o_mul, k.divisor);
    for (std::int64_t tries = 0; (scaled + k.o_mul * first) % k.divisor != 0; ++first)
      if (++tries == step) return false;
  }
  if (first >= end) return false;
  t.first = first;
  t.step = step;
  t.count = step == 1 ? end - first : (end - first + step - 1) / step;
  t.a += quotient(scaled + k.o_mul * first, k.divisor) * k.a_stride + first * t.a_step;
  t.b += first * t.b_step;
  t.a_step = t.a_step * step + quotient(k.o_mul * step, k.divisor) * k.a_stride;
  t.b_step *= step;
  return true;
}

void finish_row(const RowWalk& walk, const Row& row, const LaunchArgs& args, const FloatOperands& operands,
                const float* sums) {
  const Contraction& c = *args.contraction;
  const float* bias = operands.bias ? operands.bias + walk.bias_index(row) : nullptr;
  const auto divisor = static_cast<float>(c.divisor);
  for (std::int64_t j = 0; j < row.length; ++j) {
    float y = sums[j];
    if (bias) y += bias[j * walk.bias_step()];
    if (c.divisor != 1) y /= divisor;
    store(args, row.output + j * walk.output_step(), y);
  }
}

void store(const LaunchArgs& args, std::int64_t output, float y) {
  if (args.out_dtype == DType::f32)
    static_cast<float*>(args.out)[output] = y;
  else
    static_cast<std::uint16_t*>(args.out)[output] =
        static_cast<std::uint16_t>(round_to_bits(args.out_dtype, y));
}

std::string unsupported(const Problem&, DType in, DType out, Mode) {
  if (in == DType::f64 || out == DType::f64)
    return "host variants compute in fp32: fp64 tensors would lose digits";
  return "";
}

const std::vector<std::string>& all_operators() {
  static const std::vector<std::string> names{"conv1d",
                                              "conv1d_backward_input",
                                              "conv1d_backward_weight",
                                              "conv2d",
                                              "conv2d_backward_input",
                                              "conv2d_backward_weight",
                                              "conv3d",
                                              "conv3d_backward_input",
                                              "conv3d_backward_weight",
                                              "conv_transpose1d",
                                              "conv_transpose2d",
                                              "conv_transpose3d",
                                              "dot",
                                              "gemm",
                                              "linear",
                                              "mean",
                                              "sum"};
  return names;
}

}  // namespace ulpscope::host
