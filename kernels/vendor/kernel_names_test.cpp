#include <gtest/gtest.h>

#include "kernels/vendor/kernel_trace.hpp"

namespace ulpscope::vendor {
namespace {

TEST(KernelNames, CountsRepeatsAndKeepsOrder) {
  EXPECT_EQ(summarize_kernels({}), "");
  EXPECT_EQ(summarize_kernels({"a", "b", "b", "b", "a"}), "a + b x3 + a");
}

TEST(KernelNames, ShortensTemplatesButKeepsTheirBeginning) {
  const std::string text = summarize_kernels({"void gemm<" + std::string(5000, 'x') + ">()"});
  EXPECT_EQ(text.rfind("gemm<xxx", 0), 0u);
  EXPECT_LT(text.size(), 200u);
}

}  // namespace
}  // namespace ulpscope::vendor
