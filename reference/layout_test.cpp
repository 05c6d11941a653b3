// Channels innermost: the same terms at other places, whatever the operator.
#include "reference/layout.hpp"

#include <gtest/gtest.h>

#include <map>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

Problem problem_of(const std::string& op, Shape a, Shape b) {
  Problem p;
  p.params.op = op;
  p.a = std::move(a);
  p.b = std::move(b);
  return p;
}

// Every output's terms, as elements of A and B in channels-first numbering, must be those of the plain
// lowering.
void expect_same_terms(const Problem& problem) {
  const Contraction plain = lower(problem), last = channels_last(problem);
  ASSERT_EQ(plain.outputs(), last.outputs());
  std::map<std::int64_t, std::int64_t> a_of, b_of;  // place in memory -> number in channels-first order
  for (std::int64_t i = 0; i < elements(problem.a); ++i) a_of[channels_last_place(problem.a, i)] = i;
  for (std::int64_t i = 0; i < elements(problem.b); ++i) b_of[channels_last_place(problem.b, i)] = i;
  ASSERT_EQ(static_cast<std::int64_t>(a_of.size()), elements(problem.a));
  ASSERT_EQ(static_cast<std::int64_t>(b_of.size()), elements(problem.b));
  for (std::int64_t o = 0; o < plain.outputs(); ++o) {
    const std::int64_t at = channels_last_place(plain.out_shape, o);
    const std::vector<Term> want = terms_of(plain, o), got = terms_of(last, at);
    ASSERT_EQ(want.size(), got.size()) << problem.params.op << " output " << o;
    for (std::size_t t = 0; t < want.size(); ++t) {
      ASSERT_EQ(want[t].id, got[t].id);
      ASSERT_EQ(want[t].a, a_of.at(got[t].a)) << problem.params.op << " output " << o << " term " << t;
      ASSERT_EQ(want[t].b, b_of.at(got[t].b)) << problem.params.op << " output " << o << " term " << t;
    }
    if (problem.params.bias) {
      ASSERT_EQ(bias_index(plain, o), bias_index(last, at));
    }
  }
}

TEST(Layout, TermsAreTheSame) {
  Problem p = problem_of("conv2d", {2, 6, 5, 4}, {4, 3, 2, 3});
  p.params.groups = 2;
  p.params.padding = {1, 0, 0};
  p.params.bias = true;
  expect_same_terms(p);
  expect_same_terms(problem_of("conv2d", {3, 5, 4, 4}, {1, 5, 1, 1}));
  Problem t = problem_of("conv_transpose1d", {2, 4, 7}, {4, 3, 5});
  t.params.dilation = {3, 1, 1};
  t.params.stride = {2, 1, 1};
  expect_same_terms(t);
  t.params.groups = 2;
  t.params.bias = true;
  expect_same_terms(t);
  Problem w = problem_of("conv2d_backward_weight", {2, 4, 5, 6}, {2, 3, 4, 4});
  w.params.target = {2, 3};
  expect_same_terms(w);
  Problem x = problem_of("conv1d_backward_input", {2, 3, 5}, {3, 4, 3});
  x.params.target = {7};
  expect_same_terms(x);
  expect_same_terms(problem_of("conv3d", {1, 2, 3, 4, 5}, {3, 2, 2, 2, 2}));
}

TEST(Layout, DataMovesWithItsNumber) {
  const float nchw[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};  // [2, 3, 2]
  const Tensor t = channels_last({nchw, DType::f32, {2, 3, 2}});
  const float nhwc[] = {0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11};
  for (int i = 0; i < 12; ++i) EXPECT_EQ(t.as<float>()[i], nhwc[i]) << i;
  EXPECT_EQ(channels_last_place({2, 3, 2}, 3), 4) << "element [0, 1, 1]";
}

TEST(Layout, Transposed) {
  const std::uint16_t two[] = {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15};  // two matrices of 2x3
  const Tensor t = transposed({two, DType::bf16, {2, 2, 3}});
  EXPECT_EQ(t.shape, (Shape{2, 3, 2}));
  const std::uint16_t want[] = {0, 3, 1, 4, 2, 5, 10, 13, 11, 14, 12, 15};
  for (int i = 0; i < 12; ++i) EXPECT_EQ(t.as<std::uint16_t>()[i], want[i]) << i;
}

TEST(Layout, RefusesWhatHasNoChannels) {
  EXPECT_THROW(transposed({nullptr, DType::f32, {3}}), Error);
  EXPECT_THROW(channels_last_place({5}, 0), Error);
  EXPECT_THROW(channels_last(problem_of("gemm", {2, 3}, {3, 4})), Error);
}

}  // namespace
}  // namespace ulpscope
