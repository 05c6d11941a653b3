#include "kernels/support/device_info.hpp"

#include <gtest/gtest.h>

namespace ulpscope {
namespace {

// Holds in each of the three states: built without CUDA, with CUDA and no GPU, with a GPU.
TEST(DeviceInfo, SaysWhatIsHereOrWhyNot) {
  const DeviceInfo& d = device_info();
  EXPECT_EQ(d.available, d.reason.empty());
  EXPECT_EQ(d.reason.find('\n'), std::string::npos);
  if (d.available) {
    EXPECT_FALSE(d.name.empty());
    EXPECT_GT(d.multiprocessors, 0);
    EXPECT_GE(d.cc_major, 5);
  }
  EXPECT_NE(d.cudnn_version.empty(), d.cudnn_missing.empty());
  EXPECT_NE(d.cublas_version.empty(), d.cublas_missing.empty());
  EXPECT_NE(d.cupti_version.empty(), d.cupti_missing.empty());
  EXPECT_EQ(&d, &device_info());
}

}  // namespace
}  // namespace ulpscope
