// Matrix products against the operators' own index maps, by brute force on small integers.
#include "kernels/vendor/matrix_product.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

std::vector<std::int64_t> numbers(std::int64_t count, std::int64_t seed) {
  std::vector<std::int64_t> v(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<std::int64_t>((i * 7919 + static_cast<std::size_t>(seed)) % 23) - 11;
  return v;
}

void expect_same(const Problem& problem) {
  const Contraction c = lower(problem);
  const auto a = numbers(c.a_size ? c.a_size : elements(problem.a), 1);
  const auto b = numbers(c.b_size ? c.b_size : elements(problem.b), 2);
  std::vector<std::int64_t> out(static_cast<std::size_t>(c.outputs()), -12345);
  for (const MatrixProduct& g : matrix_products_of(problem)) {
    const auto& left = g.left_is_a ? a : b;
    const auto& right = g.left_is_a ? b : a;
    for (std::int64_t x = 0; x < g.batch; ++x)
      for (std::int64_t i = 0; i < g.m; ++i)
        for (std::int64_t j = 0; j < g.n; ++j) {
          std::int64_t sum = 0;
          for (std::int64_t k = 0; k < g.k; ++k) {
            const std::int64_t l = g.transpose_left ? k * g.ld_left() + i : i * g.ld_left() + k;
            const std::int64_t r = g.transpose_right ? j * g.ld_right() + k : k * g.ld_right() + j;
            sum += left.at(static_cast<std::size_t>(g.offset_left + x * g.stride_left + l)) *
                   right.at(static_cast<std::size_t>(g.offset_right + x * g.stride_right + r));
          }
          out.at(static_cast<std::size_t>(g.offset_out + x * g.stride_out + i * g.n + j)) = sum;
        }
  }
  for (std::int64_t o = 0; o < c.outputs(); ++o) {
    std::int64_t sum = 0;
    for (const Term& t : terms_of(c, o))
      sum += a[static_cast<std::size_t>(t.a)] * b[static_cast<std::size_t>(t.b)];
    ASSERT_EQ(out[static_cast<std::size_t>(o)], sum) << to_string(problem) << " output " << o;
  }
}

Problem problem(const char* op, Shape a, Shape b) {
  Problem p;
  p.params.op = op;
  p.a = std::move(a);
  p.b = std::move(b);
  return p;
}

TEST(MatrixProduct, GemmInEveryTransposition) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      Problem p = problem("gemm", ta ? Shape{5, 3} : Shape{3, 5}, tb ? Shape{4, 5} : Shape{5, 4});
      p.params.transpose_a = ta;
      p.params.transpose_b = tb;
      expect_same(p);
      Problem batched = p;
      batched.a.insert(batched.a.begin(), {2, 3});
      expect_same(batched);
      batched.b.insert(batched.b.begin(), {2, 3});
      expect_same(batched);
    }
}

TEST(MatrixProduct, LinearWithLeadingAxes) {
  expect_same(problem("linear", {6, 5}, {4, 5}));
  expect_same(problem("linear", {2, 3, 5}, {4, 5}));
  expect_same(problem("linear", {5}, {4, 5}));
}

TEST(MatrixProduct, PointwiseConvolutionsWithGroups) {
  for (const std::int64_t groups : {1, 2}) {
    Problem p = problem("conv2d", {3, 4, 2, 5}, {6, 4 / groups, 1, 1});
    p.params.groups = groups;
    expect_same(p);
    Problem t = problem("conv_transpose1d", {3, 4, 7}, {4, 6 / groups, 1});
    t.params.groups = groups;
    expect_same(t);
  }
}

TEST(MatrixProduct, WhatIsNoMatrixProductIsRefused) {
  EXPECT_THROW(matrix_products_of(problem("conv2d", {1, 2, 5, 5}, {3, 2, 3, 3})), Error);
  EXPECT_THROW(matrix_products_of(problem("dot", {5}, {5})), Error);
  Problem strided = problem("conv1d", {1, 2, 5}, {3, 2, 1});
  strided.params.stride[0] = 2;
  EXPECT_THROW(matrix_products_of(strided), Error);
}

}  // namespace
}  // namespace ulpscope::vendor
