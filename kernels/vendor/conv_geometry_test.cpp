#include "kernels/vendor/conv_geometry.hpp"

#include <gmock/gmock.h>

#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

using ::testing::ElementsAre;

Problem problem(const char* op, Shape a, Shape b) {
  Problem p;
  p.params.op = op;
  p.a = std::move(a);
  p.b = std::move(b);
  return p;
}

// The extent of a forward convolution: the relation every direction must keep between x, w and y.
std::int64_t forward_extent(const ConvGeometry& g, std::size_t axis) {
  return (g.x[axis + 2] + 2 * g.padding[axis] - g.dilation[axis] * (g.w[axis + 2] - 1) - 1) / g.stride[axis] +
         1;
}

TEST(ConvGeometry, OneSpatialAxisIsWrittenAsTwo) {
  Problem p = problem("conv_transpose1d", {2, 32, 100}, {32, 64, 5});
  p.params.dilation[0] = 3;
  const ConvGeometry g = geometry_of(p);
  EXPECT_EQ(g.direction, Direction::backward_data);
  EXPECT_THAT(g.y, ElementsAre(2, 32, 1, 100));
  EXPECT_THAT(g.w, ElementsAre(32, 64, 1, 5));
  EXPECT_THAT(g.x, ElementsAre(2, 64, 1, 112));
  EXPECT_THAT(g.dilation, ElementsAre(1, 3));
  EXPECT_THAT(g.stride, ElementsAre(1, 1));
  EXPECT_EQ(forward_extent(g, 1), 100);
}

TEST(ConvGeometry, DirectionsNameTheSameForwardConvolution) {
  Problem forward = problem("conv2d", {2, 6, 9, 8}, {4, 3, 3, 2});
  forward.params.groups = 2;
  forward.params.stride = {2, 1, 1};
  forward.params.padding = {1, 0, 0};
  const ConvGeometry f = geometry_of(forward);
  EXPECT_EQ(f.direction, Direction::forward);
  EXPECT_EQ(forward_extent(f, 0), f.y[2]);

  Problem input = problem("conv2d_backward_input", f.y, f.w);
  input.params.groups = 2;
  input.params.stride = forward.params.stride;
  input.params.padding = forward.params.padding;
  input.params.target = {9, 8};
  const ConvGeometry i = geometry_of(input);
  EXPECT_EQ(i.direction, Direction::backward_data);

  Problem weight = problem("conv2d_backward_weight", f.x, f.y);
  weight.params = input.params;
  weight.params.op = "conv2d_backward_weight";
  weight.params.target = {3, 2};
  const ConvGeometry w = geometry_of(weight);
  EXPECT_EQ(w.direction, Direction::backward_filter);
  for (const ConvGeometry& g : {i, w}) {
    EXPECT_EQ(g.x, f.x);
    EXPECT_EQ(g.w, f.w);
    EXPECT_EQ(g.y, f.y);
    EXPECT_EQ(g.groups, 2);
  }
}

TEST(ConvGeometry, GemmIsRefused) {
  EXPECT_THROW(geometry_of(problem("gemm", {2, 3}, {3, 4})), Error);
}

TEST(ConvGeometry, StridesAreRowMajor) {
  EXPECT_THAT(packed_strides({2, 3, 4, 5}), ElementsAre(60, 20, 5, 1));
  EXPECT_THAT(packed_strides({2, 3, 4, 5}, Layout::channels_last), ElementsAre(60, 1, 15, 3));
}

TEST(ConvGeometry, LargeBatchesAreCutEvenlyBelow31Bits) {
  const ConvGeometry seed = geometry_of(problem("conv2d", {16, 64, 1024, 1024}, {128, 64, 1, 1}));
  EXPECT_EQ(images_per_call(seed), 8);  // 2^31 outputs: two calls of 2^30
  const ConvGeometry small = geometry_of(problem("conv2d", {3, 64, 32, 32}, {128, 64, 1, 1}));
  EXPECT_EQ(images_per_call(small), 3);
  const ConvGeometry odd = geometry_of(problem("conv2d", {33, 64, 1024, 1024}, {128, 64, 1, 1}));
  EXPECT_EQ(images_per_call(odd), 11);  // at most 15 fit, so three calls
  const ConvGeometry one = geometry_of(problem("conv2d", {2, 1, 65536, 32768}, {1, 1, 1, 1}));
  EXPECT_EQ(images_per_call(one), 0);
}

}  // namespace
}  // namespace ulpscope::vendor
