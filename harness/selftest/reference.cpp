// Wrong references before problems whose answers are known from whole numbers and from single roundings.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "harness/selftest/scene.hpp"
#include "harness/selftest/selftest.hpp"
#include "reference/exact.hpp"
#include "reference/operators.hpp"

namespace ulpscope::selftest {
namespace {

Tensor tensor(const Shape& shape, const std::vector<float>& values) {
  Tensor t = make_tensor(DType::f32, shape);
  std::memcpy(t.data.get(), values.data(), values.size() * sizeof(float));
  return t;
}

/// Operands by value, so that a mutant may change them.
struct Sum {
  Problem problem;
  Tensor a, b, bias;
  Operands operands() const { return {a.view(), b.view(), bias.data ? bias.view() : TensorView{}}; }
};

/// One output: the sum of a[k]*b[k].
Sum dot_of(const std::vector<float>& a, const std::vector<float>& b) {
  const auto k = static_cast<std::int64_t>(a.size());
  return {
      parse_case(fmt::format("gemm 1x{} * {}x1", k, k)).problem, tensor({1, k}, a), tensor({k, 1}, b), {}};
}

using Reference = std::function<std::vector<float>(const Sum&)>;

std::vector<float> production(const Sum& s) {
  const Contraction c = lower(s.problem);
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(c.outputs()));
  exact(c, s.operands(), {DType::f32, 1}, 0, c.outputs(), {nullptr, nullptr, bits.data()});
  std::vector<float> values;
  for (const std::uint32_t b : bits) values.push_back(std::bit_cast<float>(b));
  return values;
}

bool same(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
}

/// The first known answer that the reference misses, "" if none.
std::string weakness(const Reference& reference) {
  // A product of whole numbers with a bias, against integer arithmetic.
  constexpr int m = 3, k = 5, n = 4;
  std::vector<float> a, b, bias;
  for (int i = 0; i < m * k; ++i) a.push_back(static_cast<float>(i * 7 % 11 - 5));
  for (int i = 0; i < n * k; ++i) b.push_back(static_cast<float>(i * 5 % 13 - 6));
  for (int i = 0; i < n; ++i) bias.push_back(static_cast<float>(100 * i + 1));
  const Sum linear{parse_case("linear 3x5 * 4x5 bias").problem, tensor({m, k}, a), tensor({n, k}, b),
                   tensor({n}, bias)};
  const std::vector<float> products = reference(linear);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      long sum = static_cast<long>(bias[static_cast<std::size_t>(j)]);
      for (int x = 0; x < k; ++x)
        sum += static_cast<long>(a[static_cast<std::size_t>(i * k + x)]) *
               static_cast<long>(b[static_cast<std::size_t>(j * k + x)]);
      if (!same(products.at(static_cast<std::size_t>(i * n + j)), static_cast<float>(sum)))
        return "whole numbers come out wrong";
    }
  // A convolution whose edges lie on padding; an infinite weight there must not be touched.
  const Sum edge{parse_case("conv1d 1x1x3 * 1x1x3 p1").problem,
                 tensor({1, 1, 3}, {1, 2, 4}),
                 tensor({1, 1, 3}, {INFINITY, 1, 10}),
                 {}};
  if (!same(reference(edge).at(0), 1 + 20)) return "padding is counted as terms";
  struct Known {
    const char* what;
    std::vector<float> a, b;
    float answer;
  };
  const float u = 0x1p-24f;
  for (const Known& known :
       std::vector<Known>{{"a tie is not rounded to even", {1, u}, {1, 1}, 1},
                          {"a tie is not rounded to even", {1 + 2 * u, u}, {1, 1}, 1 + 4 * u},
                          {"it is rounded twice", {1, u, 0x1p-60f}, {1, 1, 1}, 1 + 2 * u},
                          {"partial sums are rounded", {1e8f, 1, -1e8f}, {1, 1, 1}, 1},
                          {"-0 is lost", {-0.0f, 0}, {1, -1}, -0.0f},
                          {"a subnormal is flushed", {0x1p-100f, 0}, {0x1p-49f, 0}, 0x1p-149f},
                          {"infinity is not taken for one", {3e38f, 3e38f}, {1, 1}, INFINITY},
                          {"operands are shortened", {1 + 0x1p-20f, 0}, {1, 0}, 1 + 0x1p-20f}})
    if (!same(reference(dot_of(known.a, known.b)).at(0), known.answer)) return known.what;
  return "";
}

Plant mutant(const std::string& what, const Reference& reference) {
  return {"reference", "a reference that " + what, [reference] { return weakness(reference); }};
}

/// One that changes what the production reference is given.
Plant given(const std::string& what, const std::function<void(Sum&)>& change) {
  return mutant(what, [change](Sum s) {
    for (Tensor* t : {&s.a, &s.b, &s.bias})  // copies: the caller's stay whole
      if (t->data) *t = tensor(t->shape, {t->as<float>(), t->as<float>() + t->size()});
    change(s);
    return production(s);
  });
}

/// One that changes what it returns.
Plant returned(const std::string& what, const std::function<void(std::vector<float>&)>& change) {
  return mutant(what, [change](const Sum& s) {
    std::vector<float> values = production(s);
    change(values);
    return values;
  });
}

/// One that adds up by itself, where the terms are those of a dot product.
template <class Accumulator, class Finish>
Plant summing(const std::string& what, Finish finish) {
  return mutant(what, [finish](const Sum& s) {
    if (s.problem.params.op != "gemm") return production(s);
    Accumulator sum = -0.0f;
    for (std::int64_t k = 0; k < s.a.size(); ++k)
      sum += static_cast<Accumulator>(s.a.as<float>()[k]) * static_cast<Accumulator>(s.b.as<float>()[k]);
    return std::vector<float>{finish(sum)};
  });
}

float ties_away(double x) {
  const float down = static_cast<float>(x);
  const float up = std::nextafter(down, std::copysign(INFINITY, down));
  return std::fabs(static_cast<double>(up) - x) <= std::fabs(x - static_cast<double>(down)) ? up : down;
}

}  // namespace

std::vector<Plant> reference_plants() {
  return {
      {"reference", "the reference itself", [] { return weakness(production); }, true},
      summing<float>("adds in fp32", [](float x) { return x; }),
      summing<double>("adds in double and rounds again", [](double x) { return static_cast<float>(x); }),
      summing<double>("rounds ties away", [](double x) { return ties_away(x); }),
      given("loses the last term", [](Sum& s) { s.a.as<float>()[s.a.size() - 1] = 0; }),
      given("takes the weight transposed",
            [](Sum& s) {
              if (s.problem.params.op != "linear") return;
              Tensor t = tensor(s.b.shape, {s.b.as<float>(), s.b.as<float>() + s.b.size()});
              for (int j = 0; j < 4; ++j)
                for (int x = 0; x < 5; ++x) s.b.as<float>()[x * 4 + j] = t.as<float>()[j * 5 + x];
            }),
      given("forgets the bias",
            [](Sum& s) {
              if (s.bias.data) std::memset(s.bias.data.get(), 0, static_cast<std::size_t>(s.bias.size()) * 4);
            }),
      given("flips the taps",
            [](Sum& s) {
              if (s.problem.params.op == "conv1d") std::swap(s.b.as<float>()[0], s.b.as<float>()[2]);
            }),
      given("rounds operands to TF32",
            [](Sum& s) {
              for (Tensor* t : {&s.a, &s.b})
                for (std::int64_t i = 0; i < t->size(); ++i) {
                  auto* x = t->as<std::uint32_t>() + i;
                  if (std::isfinite(t->as<float>()[i])) *x = (*x + 0x1000) & ~0x1fffu;
                }
            }),
      returned("forgets signs of zero",
               [](std::vector<float>& v) {
                 for (float& x : v)
                   if (x == 0) x = 0;
               }),
      returned("flushes subnormals",
               [](std::vector<float>& v) {
                 for (float& x : v)
                   if (std::fabs(x) < 0x1p-126f) x = std::copysign(0.0f, x);
               }),
      returned("saturates",
               [](std::vector<float>& v) {
                 for (float& x : v)
                   if (std::isinf(x)) x = std::copysign(3.4028235e38f, x);
               }),
  };
}

}  // namespace ulpscope::selftest
