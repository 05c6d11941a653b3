// Index maps against the operators' mathematical definitions, spelt out as nested loops that share no code
// with them.
#include "reference/operators.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "reference/error.hpp"
#include "reference/operators/random_problem.hpp"

namespace ulpscope {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;  // indices into A and B
using TermSets = std::vector<std::vector<Pair>>;     // one list per output
using Coordinates = std::array<Int, 3>;

std::int64_t at(const Shape& shape, std::initializer_list<Int> leading, const Coordinates& spatial) {
  std::vector<Int> index(leading);
  const std::size_t rank = shape.size() - index.size();
  for (std::size_t s = 0; s < rank; ++s) index.push_back(spatial[s]);
  std::int64_t linear = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) linear = linear * shape[d] + index[d];
  return linear;
}

// Extents of the spatial dimensions, missing ones 1.
Coordinates spatial_of(const Shape& shape) {
  Coordinates e{1, 1, 1};
  for (std::size_t d = 2; d < shape.size(); ++d) e[d - 2] = shape[d];
  return e;
}

template <class F>
void each(const Coordinates& extent, F f) {
  for (Int i = 0; i < extent[0]; ++i)
    for (Int j = 0; j < extent[1]; ++j)
      for (Int k = 0; k < extent[2]; ++k) f(Coordinates{i, j, k});
}

// The forward convolution as a relation: calls f(n, co, ci, o, k, i) for all that multiply. ci is the global
// channel.
template <class F>
void each_product(const OperatorParams& p, Int images, Int cin, Int cout, const Coordinates& input,
                  const Coordinates& output, const Coordinates& kernel, F f) {
  for (Int n = 0; n < images; ++n)
    for (Int co = 0; co < cout; ++co)
      for (Int ci = 0; ci < cin; ++ci) {
        if (co / (cout / p.groups) != ci / (cin / p.groups)) continue;  // other group
        each(output, [&](const Coordinates& o) {
          each(kernel, [&](const Coordinates& k) {
            Coordinates i;
            for (std::size_t s = 0; s < 3; ++s) {
              i[s] = o[s] * p.stride[s] + k[s] * p.dilation[s] - p.padding[s];
              if (i[s] < 0 || i[s] >= input[s]) return;
            }
            f(n, co, ci, o, k, i);
          });
        });
      }
}

TermSets defined_terms(const Problem& q, const Shape& out) {
  const OperatorParams& p = q.params;
  TermSets sets(static_cast<std::size_t>(elements(out)));
  auto add = [&](Int o, Int a, Int b) { sets[static_cast<std::size_t>(o)].push_back({a, b}); };
  const Int groups = p.groups;
  if (p.op.find("backward_weight") != std::string::npos) {
    const Int cin = q.a[1], cout = q.b[1];
    Shape weight = out;
    each_product(p, q.a[0], cin, cout, spatial_of(q.a), spatial_of(q.b), spatial_of(out),
                 [&](Int n, Int co, Int ci, auto& o, auto& k, auto& i) {
                   add(at(weight, {co, ci % (cin / groups)}, k), at(q.a, {n, ci}, i), at(q.b, {n, co}, o));
                 });
  } else if (p.op.find("transpose") != std::string::npos ||
             p.op.find("backward_input") != std::string::npos) {
    // The adjoint of a convolution from `out` to `a`: x scatters through the taps.
    const Int from = q.a[1], to = out[1];
    each_product(p, q.a[0], to, from, spatial_of(out), spatial_of(q.a), spatial_of(q.b),
                 [&](Int n, Int co, Int ci, auto& o, auto& k, auto& i) {
                   add(at(out, {n, ci}, i), at(q.a, {n, co}, o), at(q.b, {co, ci % (to / groups)}, k));
                 });
  } else if (p.op.find("conv") != std::string::npos) {
    const Int cin = q.a[1], cout = q.b[0];
    each_product(p, q.a[0], cin, cout, spatial_of(q.a), spatial_of(out), spatial_of(q.b),
                 [&](Int n, Int co, Int ci, auto& o, auto& k, auto& i) {
                   add(at(out, {n, co}, o), at(q.a, {n, ci}, i), at(q.b, {co, ci % (cin / groups)}, k));
                 });
  } else if (p.op == "gemm") {
    const Int m = out.end()[-2], n = out.end()[-1], batch = elements(out) / (m * n);
    const Int k = elements(q.a) / (q.a.size() > 2 ? batch : 1) / m;
    for (Int z = 0; z < batch; ++z)
      for (Int i = 0; i < m; ++i)
        for (Int j = 0; j < n; ++j)
          for (Int t = 0; t < k; ++t)
            add((z * m + i) * n + j,
                (q.a.size() > 2 ? z * m * k : 0) + (p.transpose_a ? t * m + i : i * k + t),
                (q.b.size() > 2 ? z * k * n : 0) + (p.transpose_b ? j * k + t : t * n + j));
  } else if (p.op == "linear") {
    const Int n = q.b[0], k = q.b[1], m = elements(q.a) / k;
    for (Int i = 0; i < m; ++i)
      for (Int j = 0; j < n; ++j)
        for (Int t = 0; t < k; ++t) add(i * n + j, i * k + t, j * k + t);
  } else {
    for (Int t = 0; t < elements(q.a); ++t) add(0, t, p.op == "dot" ? t : 0);
  }
  return sets;
}

class EveryOperator : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Operators, EveryOperator, testing::ValuesIn(operator_names()),
                         [](auto& p) { return p.param; });

TEST_P(EveryOperator, TermsAreThoseOfTheDefinition) {
  Random pick{std::mt19937_64(7)};
  const int trials = spatial_rank(GetParam()) == 3 ? 60 : 150;
  for (int trial = 0; trial < trials; ++trial) {
    const Problem q = random_problem(GetParam(), pick);
    const Contraction c = lower(q);
    TermSets expected = defined_terms(q, c.out_shape);
    ASSERT_EQ(c.outputs(), elements(c.out_shape)) << to_string(q);
    ASSERT_EQ(output_shape(q), c.out_shape);
    for (std::int64_t o = 0; o < c.outputs(); ++o) {
      std::vector<Pair> found;
      std::int64_t previous = -1;
      for (const Term& t : terms_of(c, o)) {
        ASSERT_GT(t.id, previous) << to_string(q);  // canonical order
        ASSERT_LT(t.id, c.terms());
        previous = t.id;
        found.push_back({t.a, t.b});
      }
      auto& wanted = expected[static_cast<std::size_t>(o)];
      std::sort(found.begin(), found.end());
      std::sort(wanted.begin(), wanted.end());
      ASSERT_EQ(found, wanted) << to_string(q) << " output " << o;
      if (q.params.bias) {
        const bool per_channel = spatial_rank(GetParam()) > 0;
        const std::int64_t inside = per_channel ? elements(c.out_shape) / c.out_shape[0] / c.out_shape[1] : 1;
        const std::int64_t channels = per_channel ? c.out_shape[1] : c.out_shape.back();
        ASSERT_EQ(bias_index(c, o), o / inside % channels) << to_string(q);
        ASSERT_EQ(bias_shape(q), Shape{channels});
      }
    }
  }
}

TEST_P(EveryOperator, SlicesKeepTheTermsOfTheirOutputs) {
  Random pick{std::mt19937_64(8)};
  for (int trial = 0; trial < 30; ++trial) {
    const Problem q = random_problem(GetParam(), pick);
    const Contraction c = lower(q);
    if (c.out.empty()) return;
    const Int axis = pick(0, static_cast<Int>(c.out.size()) - 1);
    const Int size = c.out[static_cast<std::size_t>(axis)].size;
    const Int from = pick(0, size - 1), to = pick(from + 1, size);
    const Contraction s = slice(c, static_cast<int>(axis), from, to);
    ASSERT_EQ(s.outputs(), elements(s.out_shape));
    Int inside = 1;
    for (std::size_t x = static_cast<std::size_t>(axis) + 1; x < c.out.size(); ++x) inside *= c.out[x].size;
    for (Int o = 0; o < s.outputs(); ++o) {
      const Int in_axis = o / inside % (to - from) + from;
      const Int whole = (o / inside / (to - from) * size + in_axis) * inside + o % inside;
      const auto mine = terms_of(s, o), theirs = terms_of(c, whole);
      ASSERT_EQ(mine.size(), theirs.size()) << to_string(q);
      for (std::size_t t = 0; t < mine.size(); ++t) {
        ASSERT_EQ(mine[t].a, theirs[t].a);
        ASSERT_EQ(mine[t].b, theirs[t].b);
        ASSERT_EQ(mine[t].id, theirs[t].id);
      }
      ASSERT_EQ(bias_index(s, o), bias_index(c, whole));
    }
  }
}

TEST(Operators, TheListIsWhole) {
  EXPECT_THAT(
      operator_names(),
      testing::IsSupersetOf({"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "gemm",
                             "linear", "conv1d_backward_input", "conv2d_backward_input",
                             "conv3d_backward_input", "conv1d_backward_weight", "conv2d_backward_weight",
                             "conv3d_backward_weight", "dot", "sum", "mean"}));
}

Problem conv2d(Shape a, Shape b) {
  Problem q;
  q.params.op = "conv2d";
  q.a = std::move(a);
  q.b = std::move(b);
  return q;
}

TEST(Operators, IndicesBeyond32BitsAreRight) {
  // The seed's second case: 2^31 outputs.
  const Problem q = conv2d({16, 64, 1024, 1024}, {128, 64, 1, 1});
  const Contraction c = lower(q);
  ASSERT_EQ(c.outputs(), std::int64_t{1} << 31);
  const auto last = terms_of(c, c.outputs() - 1);
  ASSERT_EQ(last.size(), 64u);
  EXPECT_EQ(last[63].a, (std::int64_t{1} << 30) - 1);
  EXPECT_EQ(last[63].b, 128 * 64 - 1);
  EXPECT_EQ(last[0].a, (std::int64_t{15} * 64 + 1) * 1024 * 1024 - 1);

  Problem big;
  big.params.op = "gemm";
  big.a = {100000, 70000};
  big.b = {70000, 90000};
  const Contraction g = lower(big);
  EXPECT_EQ(g.outputs(), 9000000000);
  EXPECT_EQ(terms_of(g, g.outputs() - 1).back().a, 6999999999);
  EXPECT_EQ(terms_of(g, g.outputs() - 1).back().b, 6299999999);

  Problem sum;
  sum.params.op = "sum";
  sum.a = {std::int64_t{1} << 40};
  EXPECT_EQ(lower(sum).terms(), std::int64_t{1} << 40);
}

TEST(Operators, PrintedIdentity) {
  EXPECT_EQ(to_string(conv2d({16, 64, 1024, 1024}, {128, 64, 1, 1})),
            "conv2d 16x64x1024x1024 * 128x64x1x1 s1 p0 d1 g1");
  Problem q = conv2d({1, 4, 9, 9}, {4, 2, 3, 3});
  q.params.stride = {1, 2, 1};
  q.params.groups = 2;
  q.params.bias = true;
  EXPECT_EQ(to_string(q), "conv2d 1x4x9x9 * 4x2x3x3 s1,2 p0 d1 g2 bias");
  q.params = {};
  q.params.op = "conv2d_backward_weight";
  q.params.target = {3, 3};
  EXPECT_EQ(to_string(q), "conv2d_backward_weight 1x4x9x9 * 4x2x3x3 s1 p0 d1 g1 -> 3x3");
  q = {};
  q.params.op = "gemm";
  q.params.transpose_b = true;
  q.a = {2, 3};
  q.b = {4, 3};
  EXPECT_EQ(to_string(q), "gemm 2x3 * 4x3 tB");
  q = {};
  q.params.op = "sum";
  q.a = {7};
  EXPECT_EQ(to_string(q), "sum 7");
}

void expect_refused(const Problem& q, const std::string& word) {
  try {
    lower(q);
    ADD_FAILURE() << "accepted: " << q.params.op;
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_THAT(text, testing::HasSubstr(word));
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(Operators, WhatDoesNotFitIsRefusedInOneLine) {
  Problem q = conv2d({1, 4, 9, 9}, {4, 4, 3, 3});
  q.params.op = "conv2";
  expect_refused(q, "did you mean 'conv");
  q.params.op = "conv2d";
  auto with = [&](auto change) {
    Problem changed = q;
    change(changed);
    return changed;
  };
  expect_refused(with([](Problem& x) { x.a = {1, 4, 9}; }), "[N, C, H, W]");
  expect_refused(with([](Problem& x) { x.b = {4, 3, 3, 3}; }), "input channels per group");
  expect_refused(with([](Problem& x) { x.params.groups = 3; }), "3 groups");
  expect_refused(with([](Problem& x) { x.params.groups = 0; }), "groups must be at least 1");
  expect_refused(with([](Problem& x) { x.params.stride[1] = 0; }), "stride");
  expect_refused(with([](Problem& x) { x.params.stride[2] = 2; }), "does not have");
  expect_refused(with([](Problem& x) { x.params.padding[0] = -1; }), "padding");
  expect_refused(with([](Problem& x) { x.params.dilation[0] = std::int64_t{1} << 40; }), "dilation");
  expect_refused(with([](Problem& x) { x.params.dilation[0] = 5; }), "longer than the padded input");
  expect_refused(with([](Problem& x) { x.a[2] = 0; }), "at least 1");
  expect_refused(with([](Problem& x) { x.a[0] = std::int64_t{1} << 62; }), "63 bits");
  expect_refused(with([](Problem& x) { x.params.output_padding[0] = 1; }), "output padding");
  expect_refused(with([](Problem& x) { x.params.transpose_a = true; }), "transposed");
  expect_refused(with([](Problem& x) { x.params.target = {3, 3}; }), "target");

  Problem t;
  t.params.op = "conv_transpose1d";
  t.a = {1, 2, 4};
  t.b = {2, 2, 3};
  t.params.output_padding[0] = 1;
  expect_refused(t, "smaller than the stride");
  t.params.output_padding[0] = 0;
  t.params.padding[0] = 3;
  expect_refused(t, "pad less");
  t.params.padding[0] = 0;
  t.b = {3, 2, 3};
  expect_refused(t, "must agree");
  t.params.op = "conv1d_backward_input";
  t.b = {2, 2, 3};
  expect_refused(t, "target");
  t.params.target = {7};
  expect_refused(t, "the gradient has 4");
  t.params.target = {6};
  EXPECT_EQ(output_shape(t), (Shape{1, 2, 6}));
  t.params.bias = true;
  expect_refused(t, "no bias");

  Problem g;
  g.params.op = "gemm";
  g.a = {2, 3};
  g.b = {4, 3};
  expect_refused(g, "transpose one");
  g.a = {2, 2, 3};
  g.b = {3, 3, 4};
  expect_refused(g, "batches differ");
  g.params.op = "sum";
  expect_refused(g, "one operand");
  g.params.op = "dot";
  expect_refused(g, "shapes differ");
  EXPECT_THROW(terms_of(lower(q), 1 << 20), Error);
  EXPECT_THROW(slice(lower(q), 0, 0, 2), Error);
}

}  // namespace
}  // namespace ulpscope
