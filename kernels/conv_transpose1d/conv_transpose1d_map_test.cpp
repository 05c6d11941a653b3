#include "kernels/conv_transpose1d/conv_transpose1d_map.hpp"

#include "kernels/support/map_check.hpp"

namespace ulpscope {
namespace {

Problem random_problem(std::mt19937_64& rng) {
  Problem p;
  p.params.op = "conv_transpose1d";
  const std::int64_t groups = pick(rng, 1, 3), kernel = pick(rng, 1, 5);
  const std::int64_t stride = pick(rng, 1, 3), dilation = pick(rng, 1, 4), length = pick(rng, 1, 12);
  // PyTorch: output padding is below the larger of stride and dilation; the output must not be empty.
  const std::int64_t reach = (length - 1) * stride + dilation * (kernel - 1);
  p.params.groups = groups;
  p.params.bias = pick(rng, 0, 1) == 1;
  p.params.stride[0] = stride;
  p.params.dilation[0] = dilation;
  p.params.padding[0] = pick(rng, 0, std::min<std::int64_t>(reach / 2, 4));
  p.params.output_padding[0] = pick(rng, 0, std::max(stride, dilation) - 1);
  p.a = {pick(rng, 1, 2), groups * pick(rng, 1, 11), length};
  p.b = {p.a[1], pick(rng, 1, 3), kernel};
  return p;
}

TEST(ConvTranspose1dMap, NamesTheContractionsTermsInItsOrder) {
  std::mt19937_64 rng(12);
  for (int i = 0; i < 300; ++i) {
    const Problem p = random_problem(rng);
    SCOPED_TRACE(to_string(p));
    ASSERT_EQ(conv_transpose1d_unsupported(p), "");
    const int chunk = i % 3 == 0 ? 1 : i % 3 == 1 ? 8 : 0;
    expect_same_terms(conv_transpose1d_map(p, chunk), lower(p));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(ConvTranspose1dMap, SeedCaseAtFullSize) {
  const Problem p{{.op = "conv_transpose1d", .dilation = {3, 1, 1}}, {32, 32, 131072}, {32, 64, 5}};
  const ConvTranspose1dMap m = conv_transpose1d_map(p);
  const Contraction c = lower(p);
  EXPECT_EQ(m.positions, 131084);
  for (std::int64_t o : {std::int64_t{0}, c.outputs() - 1, c.outputs() / 2 + 777}) {
    const OutputPlace at = place_of(m, o);
    const auto terms = terms_of(c, o);
    std::size_t n = 0;
    for (int k = 0; k < m.order.depth(); ++k) {
      const std::int64_t i = m.input(m.column(at.image, at.group, at.position), m.order.at(k));
      if (i < 0) continue;
      ASSERT_LT(n, terms.size());
      EXPECT_EQ(i, terms[n].a);
      EXPECT_EQ(m.weight(at.group, at.row, m.order.at(k)), terms[n].b);
      ++n;
    }
    EXPECT_EQ(n, terms.size());
  }
}

TEST(ConvTranspose1dMap, RefusesWhatThirtyTwoBitCoordinatesCannotHold) {
  const std::int64_t huge = (std::int64_t{1} << 31) - 1;
  EXPECT_NE(conv_transpose1d_unsupported({{.op = "conv_transpose1d"}, {1, 1, huge}, {1, 1, 1}}), "");
  EXPECT_NE(conv_transpose1d_unsupported(
                {{.op = "conv_transpose1d", .stride = {huge, 1, 1}}, {1, 1, 4}, {1, 1, 1}}),
            "");
}

TEST(ConvTranspose1dMap, PlanOrder) {
  EXPECT_EQ(conv_transpose1d_order(), "c kw");
  EXPECT_EQ(conv_transpose1d_order(8), "c/8 kw c");
  EXPECT_EQ(conv_transpose1d_order(0), "kw c");
}

}  // namespace
}  // namespace ulpscope
