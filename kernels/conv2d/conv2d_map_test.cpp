#include "kernels/conv2d/conv2d_map.hpp"

#include "kernels/support/map_check.hpp"

namespace ulpscope {
namespace {

Problem random_problem(std::mt19937_64& rng, bool flat) {
  Problem p;
  p.params.op = flat ? "conv1d" : "conv2d";
  const std::size_t rank = flat ? 1 : 2;
  const std::int64_t groups = pick(rng, 1, 3), channels = pick(rng, 1, 11);
  p.params.groups = groups;
  p.params.bias = pick(rng, 0, 1) == 1;
  p.a = {pick(rng, 1, 2), groups * channels};
  p.b = {groups * pick(rng, 1, 3), channels};
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t kernel = pick(rng, 1, 3), dilation = pick(rng, 1, 3), padding = pick(rng, 0, 3);
    p.params.stride[i] = pick(rng, 1, 3);
    p.params.padding[i] = padding;
    p.params.dilation[i] = dilation;
    p.b.push_back(kernel);
    p.a.push_back(std::max<std::int64_t>((kernel - 1) * dilation + 1 - 2 * padding, 1) + pick(rng, 0, 6));
  }
  return p;
}

TEST(Conv2dMap, NamesTheContractionsTermsInItsOrder) {
  std::mt19937_64 rng(11);
  for (int i = 0; i < 300; ++i) {
    const Problem p = random_problem(rng, i % 3 == 0);
    SCOPED_TRACE(to_string(p));
    ASSERT_EQ(conv2d_unsupported(p), "");
    expect_same_terms(conv2d_map(p, i % 2 ? 8 : 1), lower(p));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Conv2dMap, PointwiseShortcutIsTakenOnlyWhereItHolds) {
  Problem p{{.op = "conv2d"}, {2, 3, 4, 5}, {6, 3, 1, 1}};
  EXPECT_TRUE(conv2d_map(p).pointwise);
  EXPECT_FALSE(conv2d_map(p).padded);
  expect_same_terms(conv2d_map(p), lower(p));
  p.params.stride = {1, 2, 1};
  EXPECT_FALSE(conv2d_map(p).pointwise);
  expect_same_terms(conv2d_map(p), lower(p));
  p.params.stride = {1, 1, 1};
  p.params.padding = {1, 0, 0};
  EXPECT_FALSE(conv2d_map(p).pointwise);
  EXPECT_TRUE(conv2d_map(p).padded);
  expect_same_terms(conv2d_map(p), lower(p));
}

// The seed case at full size: 2^31 outputs, input offsets beyond 2^32 bytes.
TEST(Conv2dMap, IndicesDoNotWrapAtTwoToTheThirtyOne) {
  const Problem p{{.op = "conv2d"}, {16, 64, 1024, 1024}, {128, 64, 1, 1}};
  const Conv2dMap m = conv2d_map(p);
  const Contraction c = lower(p);
  ASSERT_EQ(c.outputs(), std::int64_t{1} << 31);
  for (std::int64_t o : {std::int64_t{0}, (std::int64_t{1} << 31) - 1, (std::int64_t{1} << 30) + 12345}) {
    const OutputPlace at = place_of(m, o);
    EXPECT_EQ(m.output(at.image, at.group, at.row, at.position), o);
    const auto terms = terms_of(c, o);
    EXPECT_EQ(m.input(m.column(at.image, at.group, at.position), m.order.at(63)), terms[63].a);
    EXPECT_EQ(m.weight(at.group, at.row, m.order.at(63)), terms[63].b);
  }
}

TEST(Conv2dMap, RefusesWhatThirtyTwoBitCoordinatesCannotHold) {
  const std::int64_t huge = std::int64_t{1} << 31;
  EXPECT_NE(conv2d_unsupported({{.op = "conv2d"}, {1, 1, 1, huge}, {1, 1, 1, 1}}), "");
  Problem p{{.op = "conv2d"}, {1, 1, 8, 8}, {1, 1, 1, 1}};
  p.params.padding = {0, huge, 0};
  EXPECT_NE(conv2d_unsupported(p), "");
  EXPECT_EQ(
      conv2d_takes_fp32({{.op = "conv2d"}, {1, 1, 8, 8}, {1, 1, 1, 1}}, DType::bf16, DType::f32, Mode::fp32),
      "this kernel reads and writes fp32 only");
}

TEST(Conv2dMap, PlanOrderNamesTheAxesOfTheOperator) {
  const Problem one{{.op = "conv1d"}, {1, 4, 8}, {4, 4, 3}},
      two{{.op = "conv2d"}, {1, 4, 8, 8}, {4, 4, 3, 3}};
  EXPECT_EQ(conv2d_order(one), "c kw");
  EXPECT_EQ(conv2d_order(two), "c kh kw");
  EXPECT_EQ(conv2d_order(two, 8), "c/8 kh kw c");
  EXPECT_EQ(conv2d_order(two, 0), "kh kw c");
  EXPECT_EQ(three_pass_order(conv2d_order(two, 8)), "pass/2 c/8 kh kw pass c");
}

}  // namespace
}  // namespace ulpscope
