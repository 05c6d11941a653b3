#include "harness/suggest.hpp"

#include <gtest/gtest.h>

namespace ulpscope {
namespace {

const std::vector<std::string> kOps{"conv1d", "conv2d", "conv_transpose1d", "gemm", "linear"};

TEST(Suggest, FindsTyposSwapsAndBeginnings) {
  EXPECT_EQ(nearest("cnov2d", kOps), "conv2d");
  EXPECT_EQ(nearest("conv_tranpose1d", kOps), "conv_transpose1d");
  EXPECT_EQ(nearest("gem", kOps), "gemm");
  EXPECT_EQ(nearest("lin", kOps), "linear");
}

TEST(Suggest, StaysSilentWhereNothingIsNear) {
  EXPECT_EQ(nearest("softmax", kOps), "");
  EXPECT_EQ(nearest("", kOps), "");
  EXPECT_EQ(nearest(std::string(100000, 'g'), kOps), "");
  EXPECT_EQ(suggestion("softmax", {"a", "b"}), ": use a or b");
  EXPECT_EQ(suggestion("x", {}), "");
}

}  // namespace
}  // namespace ulpscope
