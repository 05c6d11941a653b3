// Planted mistakes, each made by other means than the finder's own mutants (changed data, changed parameters,
// changed outputs), and correct kernels of many plans: the confusion matrix.
#include "harness/explain/mistakes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "harness/explain/explain.hpp"
#include "reference/plan.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/testing/random_plan.hpp"

namespace ulpscope {
namespace {

using testing::random_tensor;

struct Bench {
  std::string name;
  Problem problem;
  Tensor a, b, bias;
  Contraction c;
  Operands operands() const { return {a.view(), b.view(), bias.view()}; }
};

Bench bench(const std::string& op, Shape a, Shape b, std::int64_t dilation, std::int64_t padding,
            std::int64_t groups = 1) {
  Bench t;
  t.name = op + (groups > 1 ? "_groups" : "");
  t.problem.params.op = op;
  for (int i = 0; i < spatial_rank(op); ++i) {
    t.problem.params.dilation[static_cast<std::size_t>(i)] = dilation;
    t.problem.params.padding[static_cast<std::size_t>(i)] = padding;
  }
  t.problem.params.groups = groups;
  t.problem.params.bias = true;
  t.problem.a = a;
  t.problem.b = b;
  t.c = lower(t.problem);
  t.a = random_tensor(a, 1, 0);
  t.b = random_tensor(b, 2, 1);
  t.bias = random_tensor({t.c.bias_size}, 3, 1);
  return t;
}

Tensor run(const Contraction& c, const Operands& o, const std::string& plan = "fp32 | fma") {
  Tensor y = make_tensor(DType::f32, c.out_shape);
  replay(*parse_plan(plan), c, o, 0, c.outputs(), y.as<std::uint32_t>());
  return y;
}

Tensor copy(const Tensor& t) {
  Tensor r = make_tensor(t.dtype, t.shape);
  std::copy_n(t.as<float>(), t.size(), r.as<float>());
  return r;
}

SideReport explained(const Bench& t, const Tensor& y, const Tensor* other = nullptr) {
  ExplainRequest r;
  r.problem = t.problem;
  r.contraction = t.c;
  r.operands = t.operands();
  r.candidates = {{"planted", y}};
  if (other) r.candidates.push_back({"other", *other});
  r.tolerance = {1e-4, 1e-4};
  r.seconds = 0;  // whether a plan is found is not the question here
  return explain(r).candidate;
}

using Plant = std::function<Tensor(const Bench&)>;
struct Planted {
  std::string name;
  Plant make;
};

Tensor with_weight(const Bench& t, const std::function<void(float*, std::int64_t)>& change,
                   const std::string& plan = "fp32 | fma") {
  Tensor b = copy(t.b);
  change(b.as<float>(), b.size());
  return run(t.c, {t.a.view(), b.view(), t.bias.view()}, plan);
}

Tensor with_output(const Bench& t, const std::function<void(float*, std::int64_t)>& change) {
  Tensor y = run(t.c, t.operands());
  change(y.as<float>(), y.size());
  return y;
}

// The input with part of its channels (of a gemm: of K) set to zero: their terms are missing.
Tensor without(const Bench& t, const std::function<bool(std::int64_t)>& lost, float factor = 0) {
  Tensor a = copy(t.a);
  std::int64_t inner = 1;
  const std::size_t axis = t.problem.params.op == "gemm" ? t.a.shape.size() - 1 : 1;
  for (std::size_t x = axis + 1; x < t.a.shape.size(); ++x) inner *= t.a.shape[x];
  for (std::int64_t i = 0; i < a.size(); ++i)
    if (lost(i / inner % t.a.shape[axis])) a.as<float>()[i] *= factor;
  return run(t.c, {a.view(), t.b.view(), t.bias.view()});
}

std::int64_t channels(const Bench& t) {
  return t.problem.params.op == "gemm" ? t.a.shape.back() : t.a.shape[1];
}

std::vector<Planted> common() {
  const float nan = std::nanf("");
  auto last = [](const Bench& t) { return t.c.out_shape.back(); };
  std::vector<Planted> all;
  for (const float left : {0.0f, nan, 7.0f, -123.5f})
    all.push_back({"tail of a row holds " + std::to_string(left), [=](const Bench& t) {
                     return with_output(t, [&](float* y, std::int64_t n) {
                       for (std::int64_t i = 0; i < n; ++i)
                         if (i % last(t) >= last(t) - 5) y[i] = left;
                     });
                   }});
  all.push_back({"nothing written", [](const Bench& t) {
                   return with_output(t, [](float* y, std::int64_t n) { std::fill_n(y, n, 0.0f); });
                 }});
  all.push_back({"second half not written (index overflow)", [](const Bench& t) {
                   return with_output(t, [](float* y, std::int64_t n) { std::fill(y + n / 2, y + n, 0.0f); });
                 }});
  for (const float factor : {0.0f, 2.0f})
    all.push_back({factor == 0 ? "missing bias" : "doubled bias", [=](const Bench& t) {
                     Tensor bias = copy(t.bias);
                     for (std::int64_t i = 0; i < bias.size(); ++i) bias.as<float>()[i] *= factor;
                     return run(t.c, {t.a.view(), t.b.view(), bias.view()});
                   }});
  for (const float factor : {2.0f, -1.0f})
    all.push_back({"scaled", [=](const Bench& t) {
                     return with_output(t, [=](float* y, std::int64_t n) {
                       for (std::int64_t i = 0; i < n; ++i) y[i] *= factor;
                     });
                   }});
  all.push_back({"one lane of the innermost axis wrong", [=](const Bench& t) {
                   return with_output(t, [&](float* y, std::int64_t n) {
                     for (std::int64_t i = 0; i < n; ++i)
                       if (i % last(t) % 8 == 3) y[i] += 0.5f;
                   });
                 }});
  for (const std::int64_t lost : {1, 3})
    all.push_back({"lost tail of the channels", [=](const Bench& t) {
                     return without(t, [&](std::int64_t c) { return c >= channels(t) - lost; });
                   }});
  all.push_back({"lost head of the channels",
                 [](const Bench& t) { return without(t, [](std::int64_t c) { return c < 2; }); }});
  all.push_back({"one channel missing",
                 [](const Bench& t) { return without(t, [](std::int64_t c) { return c == 5; }); }});
  all.push_back({"one channel twice", [](const Bench& t) {
                   return without(
                       t, [](std::int64_t c) { return c == 5; }, 2);
                 }});
  all.push_back({"one lane of four missing",
                 [](const Bench& t) { return without(t, [](std::int64_t c) { return c % 4 == 2; }); }});
  all.push_back({"lost tail in a partial tile only", [=](const Bench& t) {
                   const Tensor cut = without(t, [&](std::int64_t c) { return c >= channels(t) - 4; });
                   return with_output(t, [&](float* y, std::int64_t n) {
                     for (std::int64_t i = 0; i < n; ++i)
                       if (i % last(t) >= last(t) / 8 * 8) y[i] = cut.as<float>()[i];
                   });
                 }});
  all.push_back({"other weights", [](const Bench& t) {
                   const Tensor other = random_tensor(t.b.shape, 77, 1);
                   return run(t.c, {t.a.view(), other.view(), t.bias.view()});
                 }});
  all.push_back({"half of the weights uninitialised", [](const Bench& t) {
                   return with_weight(t, [](float* w, std::int64_t n) {
                     std::mt19937 rng(5);
                     for (std::int64_t i = n / 2; i < n; ++i)
                       w[i] = 4.0f * static_cast<float>(rng()) * 0x1p-32f - 2.0f;
                   });
                 }});
  all.push_back({"weights shifted by one element", [](const Bench& t) {
                   return with_weight(t, [](float* w, std::int64_t n) { std::rotate(w, w + 1, w + n); });
                 }});
  return all;
}

std::vector<Planted> of_convolutions(std::size_t taps) {
  std::vector<Planted> all;
  auto flip = [=](float* w, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(taps)) std::reverse(w + i, w + i + taps);
  };
  for (const char* plan : {"fp32 | fma", "tf32_rna | block 8 frac 25 rz", "bf16 | fma"})
    all.push_back(
        {std::string("flipped taps, ") + plan, [=](const Bench& t) { return with_weight(t, flip, plan); }});
  all.push_back({"weights in the other layout", [=](const Bench& t) {
                   return with_weight(t, [&](float* w, std::int64_t n) {
                     // memory [p, q, taps] taken for [q, p, taps]
                     const std::vector<float> old(w, w + n);
                     const std::int64_t p = t.b.shape[0], q = t.b.shape[1],
                                        k = static_cast<std::int64_t>(taps);
                     for (std::int64_t i = 0; i < p; ++i)
                       for (std::int64_t j = 0; j < q; ++j)
                         for (std::int64_t x = 0; x < k; ++x)
                           w[(i * q + j) * k + x] = old[static_cast<std::size_t>((j * p + i) * k + x)];
                   });
                 }});
  all.push_back({"input in NHWC", [=](const Bench& t) {
                   Tensor a = copy(t.a);
                   const std::int64_t ch = t.a.shape[1], pixels = t.a.size() / t.a.shape[0] / ch;
                   for (std::int64_t n = 0; n < t.a.shape[0]; ++n)
                     for (std::int64_t c = 0; c < ch; ++c)
                       for (std::int64_t p = 0; p < pixels; ++p)
                         a.as<float>()[(n * ch + c) * pixels + p] =
                             t.a.as<float>()[(n * pixels + p) * ch + c];
                   return run(t.c, {a.view(), t.b.view(), t.bias.view()});
                 }});
  auto shifted = [](const Bench& t, std::int64_t by, bool zero_only) {
    Tensor a = copy(t.a);
    const std::int64_t w = t.a.shape.back();
    for (std::int64_t i = 0; i < a.size(); ++i) {
      const std::int64_t x = i % w + by;
      const bool edge = i % w == w - 1;
      a.as<float>()[i] = zero_only         ? (edge ? 0.0f : t.a.as<float>()[i])
                         : x >= 0 && x < w ? t.a.as<float>()[i + by]
                                           : 0.0f;
    }
    return run(t.c, {a.view(), t.b.view(), t.bias.view()});
  };
  all.push_back({"window shifted by one", [=](const Bench& t) { return shifted(t, 1, false); }});
  all.push_back({"last input column never read", [=](const Bench& t) { return shifted(t, 0, true); }});
  all.push_back({"wrong dilation", [](const Bench& t) {
                   Contraction c = t.c;
                   for (RedAxis& r : c.red) r.coupling.r_mul = r.coupling.r_mul < 0 ? -2 : 2;
                   return run(c, t.operands());
                 }});
  return all;
}

// Weights [Cout, Cin/G, ...] and [Cin, Cout/G, ...] alike: the first axis runs through the groups.
std::vector<Planted> of_groups() {
  std::vector<Planted> all;
  // Group g's part of the input, or of the weight, becomes part 0.
  auto first_group = [](const Tensor& whole, std::int64_t outer, std::int64_t parts) {
    Tensor r = copy(whole);
    const std::int64_t part = whole.size() / outer / parts;
    for (std::int64_t i = 0; i < whole.size(); ++i)
      r.as<float>()[i] = whole.as<float>()[i / (part * parts) * (part * parts) + i % part];
    return r;
  };
  all.push_back({"every group reads the first one's channels", [=](const Bench& t) {
                   const Tensor a = first_group(t.a, t.a.shape[0], t.problem.params.groups);
                   return run(t.c, {a.view(), t.b.view(), t.bias.view()});
                 }});
  all.push_back({"every group uses the first one's weights", [=](const Bench& t) {
                   const Tensor b = first_group(t.b, 1, t.problem.params.groups);
                   return run(t.c, {t.a.view(), b.view(), t.bias.view()});
                 }});
  all.push_back({"channels dealt to the groups in turn", [](const Bench& t) {
                   Tensor a = copy(t.a);
                   const std::int64_t ch = t.a.shape[1], groups = t.problem.params.groups, of = ch / groups;
                   const std::int64_t pixels = t.a.size() / t.a.shape[0] / ch;
                   for (std::int64_t i = 0; i < a.size(); ++i) {
                     const std::int64_t c = i / pixels % ch, from = c % of * groups + c / of;
                     a.as<float>()[i] = t.a.as<float>()[i + (from - c) * pixels];
                   }
                   return run(t.c, {a.view(), t.b.view(), t.bias.view()});
                 }});
  return all;
}

// Verdicts by operator, as rows of a Markdown table.
struct Confusion {
  std::map<std::string, std::map<Verdict, int>> rows;
  void print(const char* what) const {
    constexpr Verdict columns[] = {Verdict::identical, Verdict::explained,  Verdict::bounded,
                                   Verdict::violated,  Verdict::structural, Verdict::unexplained};
    std::printf("| %s | number |", what);
    for (const Verdict v : columns) std::printf(" %s |", to_string(v));
    std::printf("\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (const auto& [name, counts] : rows) {
      int all = 0;
      for (const auto& [v, n] : counts) all += n;
      std::printf("| %s | %d |", name.c_str(), all);
      for (const Verdict v : columns) std::printf(" %d |", counts.contains(v) ? counts.at(v) : 0);
      std::printf("\n");
    }
  }
};

void expect_found(const Bench& t, const std::vector<Planted>& all, Confusion& confusion) {
  for (const Planted& p : all) {
    const SideReport s = explained(t, p.make(t));
    ++confusion.rows[t.name][s.verdict];
    EXPECT_TRUE(s.verdict == Verdict::structural && s.mistake)
        << t.name << ": " << p.name << " became " << to_string(s.verdict) << ": " << s.why;
    if (s.mistake)
      std::printf("%-22s %-45s -> %s (%s)\n", t.name.c_str(), p.name.c_str(), s.mistake->name.c_str(),
                  s.mistake->what.c_str());
  }
}

// As many outputs per channel as it takes to solve for its weights, and few channels.
std::vector<Bench> benches() {
  return {bench("conv_transpose1d", {1, 12, 90}, {12, 5, 5}, 3, 0),
          bench("conv2d", {1, 12, 14, 13}, {5, 12, 3, 3}, 1, 1), bench("gemm", {69, 40}, {40, 18}, 1, 0)};
}

std::vector<Bench> grouped() {
  return {bench("conv_transpose1d", {1, 12, 90}, {12, 2, 5}, 3, 0, 3),
          bench("conv2d", {1, 12, 14, 13}, {4, 6, 3, 3}, 1, 1, 2)};
}

// The same sums, fewer of them: a correct kernel is as correct in each.
std::vector<Bench> small() {
  return {bench("conv_transpose1d", {1, 12, 30}, {12, 4, 5}, 3, 0),
          bench("conv2d", {1, 12, 7, 9}, {4, 12, 3, 3}, 1, 1), bench("gemm", {23, 40}, {40, 14}, 1, 0),
          bench("conv_transpose1d", {1, 12, 30}, {12, 2, 5}, 3, 0, 3),
          bench("conv2d", {1, 12, 7, 9}, {4, 6, 3, 3}, 1, 1, 2)};
}

TEST(Mistakes, PlantedOnesAreAllFound) {
  Confusion confusion;
  for (const Bench& t : benches()) {
    expect_found(t, common(), confusion);
    if (t.problem.params.op != "gemm")
      expect_found(t, of_convolutions(static_cast<std::size_t>(t.problem.params.op == "conv2d" ? 9 : 5)),
                   confusion);
  }
  for (const Bench& t : grouped()) {
    expect_found(t, of_groups(), confusion);
    if (t.problem.params.op == "conv2d") expect_found(t, of_convolutions(9), confusion);
  }
  confusion.print("planted mistakes");
  int planted = 0;
  for (const auto& [name, counts] : confusion.rows)
    for (const auto& [v, n] : counts) planted += n;
  EXPECT_GE(planted, 60);
}

TEST(Mistakes, AStaleOutputIsNamed) {
  for (const Bench& t : benches()) {
    const Tensor old = random_tensor(t.c.out_shape, 9, 1);
    const Tensor y = with_output(t, [&](float* out, std::int64_t n) {
      std::copy(old.as<float>() + n / 2, old.as<float>() + n, out + n / 2);
    });
    const SideReport s = explained(t, y, &old);
    ASSERT_TRUE(s.mistake) << t.name;
    EXPECT_EQ(s.mistake->name, "stale_output");
  }
}

TEST(Mistakes, OneWrongElementIsFoundWithItsIndex) {
  const Bench t = benches()[1];
  const Tensor y = with_output(t, [](float* out, std::int64_t) { out[834] += 1.0f; });
  const SideReport s = explained(t, y);
  EXPECT_FALSE(passes(s.verdict));
  EXPECT_EQ(s.error.max_abs_index, 834);
  EXPECT_NE(s.why.find("one output"), std::string::npos) << s.why;
}

bool correct_kernel(const Plan& p) {
  const Arithmetic& a = p.arithmetic;
  auto narrow = [](DType t) { return t == DType::bf16 || t == DType::f16; };
  if (narrow(a.accumulator) || narrow(a.product) || p.alpha || p.beta || p.out != DType::f32 ||
      p.bias == BiasPlace::after)
    return false;
  if (a.step == Step::block && (a.block.keep != 23 || narrow(a.block.accumulator))) return false;
  for (const OperandFormat f : {p.operands.a, p.operands.b})
    if (f == OperandFormat::fp8_e4m3 || f == OperandFormat::fp8_e5m2 || f == OperandFormat::bf16_rz)
      return false;
  if (p.operands.a != p.operands.b) return false;
  for (const Level& l : p.levels)
    if (l.as || l.kept || (l.in && narrow(*l.in))) return false;
  return true;
}

TEST(Mistakes, NoCorrectKernelIsCalledStructural) {
  const std::vector<Bench> all = small();
  Confusion confusion;
  testing::RandomPlans random(41);
  int kernels = 0;
  while (kernels < 200) {
    const Bench& t = all[static_cast<std::size_t>(kernels) % all.size()];
    const Plan p = random(reduction_axes(t.c));
    if (!correct_kernel(p)) continue;
    ++kernels;
    const SideReport s = explained(t, run(t.c, t.operands(), to_string(p)));
    ++confusion.rows[t.name][s.verdict];
    EXPECT_NE(s.verdict, Verdict::structural) << t.name << ": " << to_string(p) << " was called " << s.why;
    EXPECT_TRUE(passes(s.verdict)) << t.name << ": " << to_string(p) << ": " << to_string(s.verdict) << " "
                                   << s.why;
  }
  confusion.print("correct kernels");
}

}  // namespace
}  // namespace ulpscope
