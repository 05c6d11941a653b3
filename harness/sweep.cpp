#include "harness/sweep.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

// SplitMix64: one stream per case, so that a case does not depend on how many came before it.
class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t number)
      : state_(seed * 0x9e3779b97f4a7c15ull ^ (number + 1) * 0xd1342543de82ef95ull) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t lo, std::int64_t hi) { return lo + below(hi - lo + 1); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  std::int64_t of(std::span<const std::int64_t> choices) {
    return choices[static_cast<std::size_t>(below(std::ssize(choices)))];
  }
  /// Roughly log-uniform in [lo, hi]: sizes of every magnitude are as likely. Integer arithmetic, same
  /// everywhere.
  std::int64_t magnitude(std::int64_t lo, std::int64_t hi) {
    std::int64_t top = hi;
    while (top > 2 * lo && one_in(2)) top /= 2;
    return between(std::max(lo, top / 2), top);
  }

 private:
  std::uint64_t state_;
};

constexpr std::array<std::int64_t, 12> kAligned{16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048};
constexpr std::array<std::int64_t, 12> kChannels{1, 3, 4, 8, 16, 17, 32, 33, 48, 64, 96, 128};
constexpr std::array<std::int64_t, 7> kKernels{1, 1, 2, 3, 3, 3, 5};

Problem random_gemm(Draw& draw, bool aligned) {
  Problem p;
  p.params.op = "gemm";
  const std::int64_t m = aligned ? draw.of(kAligned) : draw.magnitude(1, 1200);
  const std::int64_t n = aligned ? draw.of(kAligned) : draw.magnitude(1, 1200);
  const std::int64_t k = aligned ? draw.of(kAligned) : draw.magnitude(2, 4096);
  p.params.transpose_a = draw.one_in(2);
  p.params.transpose_b = draw.one_in(2);
  p.a = p.params.transpose_a ? Shape{k, m} : Shape{m, k};
  p.b = p.params.transpose_b ? Shape{n, k} : Shape{k, n};
  if (draw.one_in(5) && m * n * k < 1 << 27) {
    const std::int64_t batch = draw.between(2, 8);
    p.a.insert(p.a.begin(), batch);
    p.b.insert(p.b.begin(), batch);
  }
  return p;
}

// Draws a forward or transposed convolution; `backward` then turns a forward one into one of its two
// gradients.
Problem random_convolution(Draw& draw) {
  enum Kind { forward, transposed, input_gradient, weight_gradient };
  const Kind kind = std::array{forward,    forward,        forward,        transposed,
                               transposed, input_gradient, weight_gradient}[static_cast<std::size_t>(
      draw.below(7))];
  const std::int64_t rank =
      kind == transposed
          ? draw.between(1, 2)
          : std::array<std::int64_t, 6>{1, 1, 2, 2, 2, 3}[static_cast<std::size_t>(draw.below(6))];
  const std::string rank_name = std::to_string(rank) + "d";

  Problem p;
  OperatorParams& params = p.params;
  params.groups = draw.one_in(4) ? draw.of(std::array<std::int64_t, 2>{2, 4}) : 1;
  std::int64_t in_channels = draw.of(kChannels), out_channels = draw.of(kChannels);
  if (params.groups > 1) {
    in_channels = std::max<std::int64_t>(1, in_channels / params.groups) * params.groups;
    out_channels = std::max<std::int64_t>(1, out_channels / params.groups) * params.groups;
  }
  const std::int64_t stride = draw.one_in(2) ? 1 : draw.between(1, 3);
  const std::int64_t dilation = draw.one_in(2) ? 1 : draw.between(1, 3);
  const std::int64_t padding = draw.between(0, 2);
  const std::int64_t largest = std::array<std::int64_t, 3>{400, 28, 12}[static_cast<std::size_t>(rank - 1)];

  Shape spatial, kernel, reach;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    kernel.push_back(draw.of(kKernels));
    const std::int64_t needed = std::max<std::int64_t>(8, dilation * (kernel.back() - 1) + 1);
    spatial.push_back(draw.between(needed, std::max(needed, largest)));
    params.stride[static_cast<std::size_t>(axis)] = stride;
    params.dilation[static_cast<std::size_t>(axis)] = dilation;
    params.padding[static_cast<std::size_t>(axis)] = std::min(padding, dilation * (kernel.back() - 1));
    reach.push_back((spatial.back() + 2 * params.padding[static_cast<std::size_t>(axis)] -
                     dilation * (kernel.back() - 1) - 1) /
                        stride +
                    1);
    if (kind == transposed && stride > 1)
      params.output_padding[static_cast<std::size_t>(axis)] = draw.below(stride);
  }
  const std::int64_t batch = draw.of(std::array<std::int64_t, 3>{1, 2, 4});
  auto joined = [](std::int64_t first, std::int64_t second, const Shape& rest) {
    Shape s{first, second};
    s.insert(s.end(), rest.begin(), rest.end());
    return s;
  };
  const Shape x = joined(batch, in_channels, spatial), y = joined(batch, out_channels, reach);
  const Shape w = joined(out_channels, in_channels / params.groups, kernel);
  switch (kind) {
    case forward:
      params.op = "conv" + rank_name;
      p.a = x, p.b = w;
      break;
    case transposed:
      params.op = "conv_transpose" + rank_name;
      p.a = x, p.b = joined(in_channels, out_channels / params.groups, kernel);
      break;
    case input_gradient:
      params.op = "conv" + rank_name + "_backward_input";
      params.target = spatial;
      p.a = y, p.b = w;
      break;
    case weight_gradient:
      params.op = "conv" + rank_name + "_backward_weight";
      params.target = kernel;
      p.a = x, p.b = y;
      break;
  }
  return p;
}

std::string padded(std::int64_t number) {
  std::string text = std::to_string(number);
  return std::string(text.size() < 4 ? 4 - text.size() : 0, '0') + text;
}

}  // namespace

std::vector<Case> sweep_cases(std::int64_t count, std::uint64_t seed) {
  if (count < 1 || count > 100000)
    throw Error("a sweep of " + std::to_string(count) + " cases: ask for 1 to 100000");
  std::vector<Case> cases;
  for (std::int64_t number = 0; number < count; ++number) {
    Draw draw(seed, static_cast<std::uint64_t>(number));
    Case c;
    const bool aligned = draw.one_in(3);
    c.problem = number % 2 == 0 ? random_gemm(draw, aligned) : random_convolution(draw);
    if (draw.one_in(4)) {
      c.in = draw.one_in(2) ? DType::bf16 : DType::f16;
      // A gemm may keep fp32 results of 16-bit operands, which tell plans apart far better than 16-bit
      // results do.
      c.out = c.problem.params.op == "gemm" && draw.one_in(2) ? DType::f32 : c.in;
    }
    c.name = "sweep/s" + std::to_string(seed) + "_" + padded(number) + "_" + c.problem.params.op;
    c.fill_a.kind = c.fill_b.kind = "normal";
    c.seed = seed * 1000003 + static_cast<std::uint64_t>(number);
    c.tags = {"sweep"};
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace ulpscope
