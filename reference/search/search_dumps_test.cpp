// Every convolution, transposed convolution, backward pass and linear layer recorded on an H200, from the
// dump alone.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reference/operators.hpp"
#include "reference/plan.hpp"
#include "reference/search/search.hpp"
#include "reference/testing/recorded.hpp"

namespace ulpscope {
namespace {

using testing::recorded_tensor;

struct Dump {
  const char* file;
  const char* op;
  const char* a;
  const char* b;
  const char* y;
  std::int64_t stride, dilation, groups;
  std::int64_t from, to;  // slice of the last output axis; to = 0: all
  const char* plan;
};

std::string name_of(const ::testing::TestParamInfo<Dump>& p) {
  std::string text = std::string(p.param.file) + "_" + p.param.y;
  for (char& ch : text)
    if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
  return text;
}

constexpr const char* kRna32 = "tf32_rna | block 8 frac 25 rz | order c/32 kh kw c";
constexpr const char* kRna16 = "tf32_rna | block 8 frac 25 rz | order c/16 kw c";
constexpr const char* kRne = "tf32_rne | block 8 frac 25 rz";
constexpr const char* kFma = "fp32 | fma";
constexpr const char* kTiles8 = "fp32 | fma | lanes 8 every 8 seq";
constexpr const char* kGemv32 = "fp32 | fma | lanes 16 seq | chunks 32 seq";
constexpr const char* kGemv16 = "fp32 | fma | lanes 16 seq | chunks 16 seq";

std::ostream& operator<<(std::ostream& out, const Dump& d) {
  return out << d.file << " " << d.y;
}

class RecordedDump : public ::testing::TestWithParam<Dump> {};
INSTANTIATE_TEST_SUITE_P(
    H200, RecordedDump,
    ::testing::Values(Dump{"conv2d_pointwise_uniform", "conv2d", "x", "w", "y_fp32", 1, 1, 1, 0, 0, kFma},
                      Dump{"conv2d_pointwise_uniform", "conv2d", "x", "w", "y_tf32", 1, 1, 1, 0, 0, kRne},
                      Dump{"conv2d_pointwise_normal", "conv2d", "x", "w", "y_fp32", 1, 1, 1, 0, 0, kFma},
                      Dump{"conv2d_pointwise_normal", "conv2d", "x", "w", "y_tf32", 1, 1, 1, 0, 0, kRne},
                      Dump{"conv_transpose1d_uniform", "conv_transpose1d", "x_left", "w", "y_left_fp32", 1, 3,
                           1, 0, 512, kFma},
                      Dump{"conv_transpose1d_uniform", "conv_transpose1d", "x_left", "w", "y_left_tf32", 1, 3,
                           1, 0, 512, kRna16},
                      Dump{"conv_transpose1d_uniform", "conv_transpose1d", "x_right", "w", "y_right_fp32", 1,
                           3, 1, 36, 548, kFma},
                      Dump{"conv_transpose1d_uniform", "conv_transpose1d", "x_right", "w", "y_right_tf32", 1,
                           3, 1, 36, 548, kRna16},
                      Dump{"conv_transpose1d_normal", "conv_transpose1d", "x_left", "w", "y_left_fp32", 1, 3,
                           1, 0, 512, kFma},
                      Dump{"conv_transpose1d_normal", "conv_transpose1d", "x_left", "w", "y_left_tf32", 1, 3,
                           1, 0, 512, kRna16},
                      Dump{"conv2d_8x64x64x56_s1d1g1", "conv2d", "x", "w", "y_fp32", 1, 1, 1, 0, 0, kFma},
                      Dump{"conv2d_8x64x64x56_s1d1g1", "conv2d", "x", "w", "y_tf32", 1, 1, 1, 0, 0, kRna32},
                      Dump{"conv2d_16x128x128x28_s1d1g1", "conv2d", "x", "w", "y_tf32", 1, 1, 1, 0, 0,
                           "tf32_rne | block 8 frac 25 rz | order c/32 kh kw c"},
                      Dump{"conv2d_8x32x32x28_s1d2g1", "conv2d", "x", "w", "y_tf32", 1, 2, 1, 0, 0, kFma},
                      Dump{"conv2d_4x32x64x56_s2d1g1", "conv2d", "x", "w", "y_fp32", 2, 1, 1, 0, 0, kFma},
                      Dump{"conv2d_4x64x64x32_s1d1g64", "conv2d", "x", "w", "y_fp32", 1, 1, 64, 0, 0, kFma},
                      Dump{"conv2d_backward", "conv2d_backward_input", "gy", "w", "gx_fp32", 1, 1, 1, 0, 0,
                           kFma},
                      Dump{"conv2d_backward", "conv2d_backward_weight", "x", "gy", "gw_fp32", 1, 1, 1, 0, 0,
                           "fp32 | fma | lanes 32 butterfly"},
                      Dump{"linear_batch", "linear", "x", "w", "y_fp32_m1", 1, 1, 1, 0, 0, kGemv32},
                      Dump{"linear_batch", "linear", "x", "w", "y_fp32_m2", 1, 1, 1, 0, 0, kGemv16},
                      Dump{"linear_batch", "linear", "x", "w", "y_fp32_m33", 1, 1, 1, 0, 0, kTiles8},
                      Dump{"linear_batch", "linear", "x", "w", "y_fp32_m1024", 1, 1, 1, 0, 0,
                           "fp32 | fma | lanes 2 every 8 seq"},
                      Dump{"linear_batch", "linear", "x", "w", "y_tf32_m128", 1, 1, 1, 0, 0, kRne}),
    name_of);

TEST_P(RecordedDump, IsReproducedInEveryBit) {
  const Dump& d = GetParam();
  const Tensor a = recorded_tensor(d.file, d.a), b = recorded_tensor(d.file, d.b),
               y = recorded_tensor(d.file, d.y);
  Problem p;
  p.params.op = d.op;
  for (int axis = 0; axis < spatial_rank(d.op); ++axis) {
    p.params.stride[static_cast<std::size_t>(axis)] = d.stride;
    p.params.dilation[static_cast<std::size_t>(axis)] = d.dilation;
  }
  p.params.groups = d.groups;
  p.a = a.shape;
  p.b = b.shape;
  if (p.params.op.starts_with("conv2d_backward")) p.params.target = {y.shape[2], y.shape[3]};
  Contraction c = lower(p);
  if (d.to) c = slice(c, static_cast<int>(c.out.size()) - 1, d.from, d.to);
  ASSERT_EQ(c.outputs(), y.size());
  SearchOptions options;
  options.threads = 2;
  const SearchResult r = find_plans(c, {a.view(), b.view(), {}}, observe(y.view()), options);
  ASSERT_FALSE(r.plans.empty()) << "best " << r.best_share << ": " << r.best_plan;
  EXPECT_EQ(r.plans[0], d.plan);
  EXPECT_EQ(r.outputs_confirmed, y.size());
  std::printf("%lld candidates, %zu fit, %.2f s\n", static_cast<long long>(r.candidates), r.plans.size(),
              r.seconds);
}

}  // namespace
}  // namespace ulpscope
