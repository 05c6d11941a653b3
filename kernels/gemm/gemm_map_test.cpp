// The gemm kernels' index map and sums, run on the CPU, against the plans their files declare.
#include "kernels/gemm/gemm_map.hpp"

#include <gtest/gtest.h>

#include "kernels/support/gather.hpp"
#include "kernels/support/pairwise_sum.hpp"
#include "reference/operators/random_problem.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

Tensor random_floats(const Shape& shape, Random& pick) {
  Tensor t = make_tensor(DType::f32, shape);
  for (std::int64_t i = 0; i < t.size(); ++i)
    t.as<float>()[i] = static_cast<float>(pick(-(1 << 23), 1 << 23)) * 0x1p-23f;
  return t;
}

// The kernel computes its sum and adds the bias by itself afterwards, as launch_gemm does.
template <class Sum>
void expect_plan(const char* name, const std::string& text, const Problem& p, Random& pick) {
  SCOPED_TRACE(text + " on " + to_string(p));
  for (const Variant* v : variants_of(p.params.op))
    if (v->name == name && v->where == Where::cuda) {
      ASSERT_EQ(v->plan(p, v->modes.front()), with_bias_after(p, text));
    }
  const Contraction c = lower(p);
  const Tensor a = random_floats(p.a, pick), b = random_floats(p.b, pick);
  Tensor bias;
  if (p.params.bias) bias = random_floats(bias_shape(p), pick);
  std::vector<std::uint32_t> predicted(static_cast<std::size_t>(c.outputs()));
  replay(*parse_plan(with_bias_after(p, text)), c,
         {a.view(), b.view(), p.params.bias ? bias.view() : TensorView{}}, 0, c.outputs(), predicted.data(),
         1);
  const GemmMap map = gemm_map(c);
  for (std::int64_t o = 0; o < c.outputs(); ++o) {
    const OutputPlace at = place_of(map, o);
    ASSERT_EQ(map.output(at.image, at.group, at.row, at.position), o);
    float y = gather<Sum>(map, at, b.as<float>(), a.as<float>(), static_cast<const float*>(nullptr));
    if (p.params.bias) y = add_rn(y, bias.as<float>()[bias_index(c, o)]);
    ASSERT_EQ(bits_of(y), predicted[static_cast<std::size_t>(o)]) << "output " << o << ": " << y;
  }
}

TEST(GemmMap, DeclaredPlansReplay) {
  Random pick{std::mt19937_64(51)};
  for (int i = 0; i < 60; ++i) {
    Problem p = random_problem(i % 3 ? "gemm" : "linear", pick);
    expect_plan<FmaChain>("sequential", "fp32 | fma | order k", p, pick);
    expect_plan<FmaChain>("naive", "fp32 | fma | order k", p, pick);
    expect_plan<ChunkedChains<32>>("blocked_32", "fp32 | fma | order k | chunks 32", p, pick);
    expect_plan<PairwiseSum>("pairwise", "fp32 | fma | order k | pairwise", p, pick);
    expect_plan<Kahan>("kahan", "fp32 | kahan_fma | order k", p, pick);
    expect_plan<DoubleChain>("double_chain", "fp32 | fma fp64 | order k", p, pick);
    if (HasFatalFailure()) return;
  }
}

TEST(GemmMap, LongSumsCrossChunksAndLevels) {
  Random pick{std::mt19937_64(52)};
  for (const std::int64_t k : {1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 1023, 1024, 1025, 2047}) {
    const Problem p{{.op = "gemm", .bias = k % 2 == 0}, {2, k}, {k, 2}};
    expect_plan<ChunkedChains<32>>("blocked_32", "fp32 | fma | order k | chunks 32", p, pick);
    expect_plan<PairwiseSum>("pairwise", "fp32 | fma | order k | pairwise", p, pick);
    if (HasFatalFailure()) return;
  }
}

TEST(GemmMap, SlicesOfTermsCoverThem) {
  const Problem p{{.op = "gemm", .transpose_b = true}, {3, 10}, {4, 10}};
  const Contraction c = lower(p);
  const GemmMap map = gemm_map(c);
  for (std::int64_t o = 0; o < c.outputs(); ++o) {
    const OutputPlace at = place_of(map, o);
    const auto terms = terms_of(c, o);
    for (int first = 0; first < 10; first += 4) {
      GemmMap slice = map;
      slice.first_k = first;
      slice.order.channels = std::min(4, 10 - first);
      for (int k = 0; k < slice.order.channels; ++k) {
        EXPECT_EQ(slice.weight(at.group, at.row, {k, 0, 0}), terms[static_cast<std::size_t>(first + k)].a);
        EXPECT_EQ(slice.input(slice.column(0, at.group, at.position), {k, 0, 0}),
                  terms[static_cast<std::size_t>(first + k)].b);
      }
      EXPECT_EQ(slice.weight(at.group, at.row, {slice.order.channels, 0, 0}), -1);
    }
  }
}

TEST(GemmMap, RefusesWhatThirtyOneBitsCannotHold) {
  const std::int64_t huge = std::int64_t{1} << 30;
  EXPECT_NE(gemm_unsupported({{.op = "gemm"}, {huge, 1}, {1, 1}}), "");
  EXPECT_NE(gemm_unsupported({{.op = "gemm"}, {1, huge}, {huge, 1}}), "");
  EXPECT_EQ(gemm_unsupported({{.op = "gemm"}, {1, 1}, {1, huge * 4}}), "");
  EXPECT_NE(gemm_takes_fp32({{.op = "gemm"}, {1, 1}, {1, 1}}, DType::bf16, DType::f32, Mode::fp32), "");
  EXPECT_EQ(gemm_takes(DType::bf16, {{.op = "gemm"}, {1, 1}, {1, 1}}, DType::bf16, DType::f32), "");
  EXPECT_NE(gemm_takes(DType::bf16, {{.op = "gemm"}, {1, 1}, {1, 1}}, DType::f16, DType::f32), "");
}

}  // namespace
}  // namespace ulpscope
