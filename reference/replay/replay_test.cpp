#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "reference/arithmetic/scalar.hpp"
#include "reference/error.hpp"
#include "reference/operators.hpp"
#include "reference/plan.hpp"
#include "reference/replay/scalar.hpp"
#include "reference/replay/tile_replay.hpp"
#include "reference/testing/random_plan.hpp"

namespace ulpscope {
namespace {

using testing::random_tensor;

Problem problem(const char* op, Shape a, Shape b, const std::function<void(OperatorParams&)>& set = {}) {
  Problem p;
  p.params.op = op;
  if (set) set(p.params);
  p.a = std::move(a);
  p.b = std::move(b);
  return p;
}

std::vector<Problem> problems() {
  return {
      problem("gemm", {33, 70}, {70, 21}),
      problem("gemm", {2, 5, 300}, {2, 300, 9}),
      problem("gemm", {17, 40}, {17, 40}, [](auto& p) { p.transpose_a = true; }),
      problem("linear", {1, 600}, {48, 600}, [](auto& p) { p.bias = true; }),
      problem("dot", {513}, {513}),
      problem("sum", {3, 130}, {}),
      problem("mean", {3, 130}, {}),
      problem("conv1d", {2, 6, 19}, {4, 6, 5},
              [](auto& p) {
                p.padding[0] = 3;
                p.bias = true;
              }),
      problem("conv2d", {2, 20, 9, 7}, {6, 20, 3, 3},
              [](auto& p) {
                p.padding = {1, 2, 0};
                p.stride = {2, 1, 1};
              }),
      problem("conv2d", {1, 12, 8, 8}, {12, 1, 3, 3},
              [](auto& p) {
                p.groups = 12;
                p.padding = {1, 1, 0};
              }),
      problem("conv_transpose1d", {2, 16, 23}, {16, 5, 5}, [](auto& p) { p.dilation[0] = 3; }),
      problem("conv_transpose2d", {1, 8, 5, 6}, {8, 3, 3, 2},
              [](auto& p) {
                p.stride = {2, 3, 1};
                p.padding = {1, 0, 0};
              }),
      problem("conv2d_backward_weight", {2, 4, 9, 9}, {2, 3, 7, 7},
              [](auto& p) {
                p.target = {3, 3};
              }),
  };
}

struct Setting {
  Contraction c;
  Tensor a, b, bias;
  Operands operands;
};

Setting setting(const Problem& p, unsigned seed, int kind) {
  Setting s;
  s.c = lower(p);
  s.a = random_tensor(p.a, seed, kind);
  s.operands.a = s.a.view();
  if (!p.b.empty()) {
    s.b = random_tensor(p.b, seed + 1, kind);
    s.operands.b = s.b.view();
  }
  if (s.c.has_bias) {
    s.bias = random_tensor(bias_shape(p), seed + 2, 1);
    s.operands.bias = s.bias.view();
  }
  return s;
}

std::vector<std::uint32_t> replayed(const Plan& plan, const Setting& s, int threads = 1) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(s.c.outputs()));
  replay(plan, s.c, s.operands, 0, s.c.outputs(), out.data(), threads);
  return out;
}

std::vector<std::uint32_t> one_by_one(const Plan& plan, const Setting& s) {
  const Program program = compile(plan, reduction_axes(s.c));
  ScalarReplay scalar(plan, program, s.c, s.operands);
  std::vector<std::uint32_t> out;
  for (std::int64_t o = 0; o < s.c.outputs(); ++o) out.push_back(scalar(o));
  return out;
}

void expect_same(const std::vector<std::uint32_t>& x, const std::vector<std::uint32_t>& y,
                 const std::string& what) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], y[i]) << what << ", output " << i;
}

// The fast loops against the scalar definition: random plans, every operator, every kind of number.
TEST(Replay, FastEqualsScalarForRandomPlans) {
  testing::RandomPlans random(21);
  const auto all = problems();
  int narrow = 0, wide = 0;
  for (unsigned i = 0; i < 260; ++i) {
    const Problem& p = all[i % all.size()];
    const Setting s = setting(p, i, static_cast<int>(i / all.size() % 6));
    const Plan plan = random(reduction_axes(s.c));
    const Engine engine = engine_for(plan);
    if (engine == Engine::scalar) continue;
    ++(engine == Engine::narrow ? narrow : wide);
    expect_same(replayed(plan, s), one_by_one(plan, s), to_string(plan) + " of " + to_string(p));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(narrow, 80);
  EXPECT_GT(wide, 2);
}

// The block loop with every kind of number: its exact path must take over wherever the fast one does not
// hold.
TEST(Replay, FastEqualsScalarForBlocks) {
  const auto all = problems();
  for (const char* text :
       {"tf32_rna | block 8 frac 25 rz", "bf16 | block 16 frac 25 rz", "fp16 | block 4 frac 23 rz",
        "a fp8_e4m3 b fp8_e5m2 | block 32 frac 25 rz", "tf32_rz | block 8 frac 24 rz | split 3 align 8"})
    for (unsigned kind = 0; kind < 6; ++kind)
      for (std::size_t i = kind % 2; i < all.size(); i += 2) {
        const Setting s = setting(all[i], 100 + kind, static_cast<int>(kind));
        const auto plan = parse_plan(text);
        ASSERT_EQ(engine_for(*plan), Engine::narrow);
        expect_same(replayed(*plan, s), one_by_one(*plan, s), std::string(text) + " of " + to_string(all[i]));
        if (HasFatalFailure()) return;
      }
}

TEST(Replay, ThreadsAndRangesDoNotMatter) {
  const Setting s = setting(problems()[8], 5, 1);
  const auto plan = parse_plan("tf32_rne | block 8 frac 25 rz | order c/8 kh kw c");
  const auto whole = replayed(*plan, s, 1);
  EXPECT_EQ(replayed(*plan, s, 4), whole);
  std::vector<std::uint32_t> part(100);
  replay(*plan, s.c, s.operands, 37, 100, part.data(), 2);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 37));
  EXPECT_THROW(replay(*plan, s.c, s.operands, 0, s.c.outputs() + 1, part.data()), Error);
  EXPECT_NO_THROW(replay(*plan, s.c, s.operands, s.c.outputs(), 0, nullptr));
}

// ---- loops written by hand, as a kernel would be

struct Rows {
  std::vector<float> a, b;
};

Rows terms(const Setting& s, std::int64_t o) {
  Rows r;
  for (const Term& t : terms_of(s.c, o)) {
    r.a.push_back(static_cast<float>(s.operands.a.at(t.a)));
    r.b.push_back(s.c.b_is_ones ? 1.0f : static_cast<float>(s.operands.b.at(t.b)));
  }
  return r;
}

void expect_by_hand(const char* text, const Problem& p, const std::function<float(const Rows&)>& by_hand) {
  const Setting s = setting(p, 77, 1);
  const auto got = replayed(*parse_plan(text), s);
  for (std::int64_t o = 0; o < s.c.outputs(); ++o)
    ASSERT_EQ(got[static_cast<std::size_t>(o)], std::bit_cast<std::uint32_t>(by_hand(terms(s, o))))
        << text << " output " << o;
}

TEST(Replay, PlansWrittenOutByHand) {
  const Problem gemm = problem("gemm", {7, 100}, {100, 19});
  expect_by_hand("fp32 | fma", gemm, [](const Rows& r) {
    float acc = 0;
    for (std::size_t k = 0; k < 100; ++k) acc = std::fma(r.a[k], r.b[k], acc);
    return acc;
  });
  expect_by_hand("fp32 | mul_add | order k reversed", gemm, [](const Rows& r) {
    float acc = 0;
    for (std::size_t k = 100; k-- > 0;) acc += r.a[k] * r.b[k];
    return acc;
  });
  expect_by_hand("fp32 | fma fp64", gemm, [](const Rows& r) {
    double acc = 0;
    for (std::size_t k = 0; k < 100; ++k) acc += static_cast<double>(r.a[k]) * static_cast<double>(r.b[k]);
    return static_cast<float>(acc);
  });
  expect_by_hand("fp32 | mul_add fp32 fp64", gemm, [](const Rows& r) {
    double acc = 0;
    for (std::size_t k = 0; k < 100; ++k) acc += static_cast<double>(r.a[k] * r.b[k]);
    return static_cast<float>(acc);
  });
  expect_by_hand("fp32 | kahan", gemm, [](const Rows& r) {
    float sum = 0, c = 0;
    for (std::size_t k = 0; k < 100; ++k) {
      const float y = r.a[k] * r.b[k] - c, t = sum + y;
      c = (t - sum) - y;
      sum = t;
    }
    return sum;
  });
  expect_by_hand("fp32 | fma | lanes 32 butterfly", gemm, [](const Rows& r) {
    float lane[32] = {};
    for (std::size_t k = 0; k < 100; ++k) lane[k % 32] = std::fma(r.a[k], r.b[k], lane[k % 32]);
    for (std::size_t offset = 16; offset; offset /= 2)
      for (std::size_t l = 0; l < offset; ++l) lane[l] += lane[l + offset];
    return lane[0];
  });
  expect_by_hand("fp32 | fma | split 3 align 8 reverse", gemm, [](const Rows& r) {
    float part[3] = {};  // ceil(100/3) = 34, up to 40
    for (std::size_t k = 0; k < 100; ++k) part[k / 40] = std::fma(r.a[k], r.b[k], part[k / 40]);
    return (part[2] + part[1]) + part[0];
  });
  // gemv: lane l = k mod 16; in tiles of 64 each lane's chain starts again; tiles in order, then lanes in
  // order.
  expect_by_hand("fp32 | fma | lanes 16 seq | chunks 4 seq", gemm, [](const Rows& r) {
    float total = 0;
    for (std::size_t lane = 0; lane < 16; ++lane) {
      float sum = 0;
      for (std::size_t tile = 0; tile < 100; tile += 64) {
        float acc = 0;
        for (std::size_t k = tile + lane; k < std::min<std::size_t>(tile + 64, 100); k += 16)
          acc = std::fma(r.a[k], r.b[k], acc);
        sum = tile ? sum + acc : acc;
      }
      total = lane ? total + sum : sum;
    }
    return total;
  });
  expect_by_hand("tf32_rna passes lo*hi hi*lo hi*hi | fma | order k/4 pass k", gemm, [](const Rows& r) {
    float acc = 0;
    for (std::size_t k0 = 0; k0 < 100; k0 += 4)
      for (int pass = 0; pass < 3; ++pass)
        for (std::size_t k = k0; k < k0 + 4; ++k) {
          const float ah = shorten(OperandFormat::tf32_rna, r.a[k]),
                      bh = shorten(OperandFormat::tf32_rna, r.b[k]);
          const float al = shorten(OperandFormat::tf32_rna, r.a[k] - ah),
                      bl = shorten(OperandFormat::tf32_rna, r.b[k] - bh);
          acc = pass == 0 ? std::fma(al, bh, acc) : pass == 1 ? std::fma(ah, bl, acc) : std::fma(ah, bh, acc);
        }
    return acc;
  });
  expect_by_hand("fp32 | mul_add | order kw c", problem("conv1d", {1, 3, 9}, {2, 3, 2}), [](const Rows& r) {
    float acc = 0;
    for (std::size_t kw = 0; kw < 2; ++kw)
      for (std::size_t c = 0; c < 3; ++c) acc += r.a[c * 2 + kw] * r.b[c * 2 + kw];
    return acc;
  });
}

// A serial accumulator in half precision: what the field saw as 7316 instead of 6000.
TEST(Replay, NarrowAccumulators) {
  Setting s;
  s.c = lower(problem("dot", {2000}, {2000}));
  s.a = make_tensor(DType::f32, {2000});
  s.b = make_tensor(DType::f32, {2000});
  for (int i = 0; i < 2000; ++i) s.a.as<float>()[i] = 3, s.b.as<float>()[i] = 1;
  s.operands = {s.a.view(), s.b.view(), {}};
  EXPECT_EQ(value_of_bits(DType::f16, replayed(*parse_plan("fp32 | fma fp16 | out fp16"), s)[0]), 7316);
  EXPECT_EQ(value_of_bits(DType::f32, replayed(*parse_plan("fp32 | fma fp16 | chunks 100"), s)[0]), 6000);
}

TEST(Replay, Epilogues) {
  Problem p = problem("linear", {1, 3}, {2, 3});
  p.params.bias = true;
  Setting s = setting(p, 3, 1);
  const auto value = [&](const char* text, int o) {
    const auto plan = parse_plan(text);
    return value_of_bits(output_format(*plan), replayed(*plan, s)[static_cast<std::size_t>(o)]);
  };
  for (int o = 0; o < 2; ++o) {
    const Rows r = terms(s, o);
    const float bias = s.bias.as<float>()[o];
    auto chain = [&](float acc) {
      for (std::size_t k = 0; k < 3; ++k) acc = std::fma(r.a[k], r.b[k], acc);
      return acc;
    };
    EXPECT_EQ(value("fp32 | fma", o), chain(0) + bias);
    EXPECT_EQ(value("fp32 | fma | bias first", o), chain(bias));
    EXPECT_EQ(value("fp32 | fma | alpha 0.3 | beta 0.7", o), std::fma(0.3f, chain(0), 0.7f * bias));
    const double rounded = round_in(DType::bf16, chain(0));
    EXPECT_EQ(value("fp32 | fma | out bf16", o), round_in(DType::bf16, chain(0) + bias));
    EXPECT_EQ(value("fp32 | fma | bias after | out bf16", o), round_in(DType::bf16, rounded + bias));
  }
}

// Atomics in the field: (1e30, -1e30, 1) gave 0 or 1 from run to run.
TEST(Replay, UnorderedSumsReachWhatSomeOrderGives) {
  Setting s;
  s.c = lower(problem("sum", {1, 3}, {}));
  s.a = make_tensor(DType::f32, {1, 3});
  const float values[] = {1e30f, -1e30f, 1};
  std::copy(values, values + 3, s.a.as<float>());
  s.operands.a = s.a.view();
  const auto plan = parse_plan("fp32 | fma | chunks 1 unordered");
  const auto reaches = [&](float y) {
    return reachable(*plan, s.c, s.operands, 0, std::bit_cast<std::uint32_t>(y));
  };
  EXPECT_TRUE(reaches(0));
  EXPECT_TRUE(reaches(1));
  EXPECT_FALSE(reaches(2));
  std::uint32_t out;
  EXPECT_THROW(replay(*plan, s.c, s.operands, 0, 1, &out), Error);
  EXPECT_THROW(reachable(*parse_plan("fp32 | fma"), s.c, s.operands, 0, 0), Error);
}

TEST(Replay, FieldCaseA100) {
  Setting s;
  Problem p = problem("gemm", {2, 2}, {2, 2});
  p.params.transpose_b = true;
  s.c = lower(p);
  s.a = make_tensor(DType::f32, {2, 2});
  const float values[] = {1.1111111f, 2.2222222f, 3.3333333f, 4.4444444f};
  std::copy(values, values + 4, s.a.as<float>());
  s.operands = {s.a.view(), s.a.view(), {}};
  const auto tf32 = replayed(*parse_plan("tf32_rne | block 4 frac 24 rz"), s),
             fp32 = replayed(*parse_plan("fp32 | fma"), s);
  const auto value = [](std::uint32_t u) { return std::bit_cast<float>(u); };
  EXPECT_FLOAT_EQ(value(tf32[0]), 6.175251f);
  EXPECT_FLOAT_EQ(value(tf32[1]), 13.585552f);
  EXPECT_FLOAT_EQ(value(tf32[3]), 30.876255f);
  EXPECT_FLOAT_EQ(value(fp32[0]), 6.1728387f);
  EXPECT_FLOAT_EQ(value(replayed(*parse_plan("tf32_rz | block 4 frac 24 rz"), s)[0]), 6.164403f);
}

}  // namespace
}  // namespace ulpscope
