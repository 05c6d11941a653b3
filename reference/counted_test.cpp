#include "reference/counted.hpp"

#include <gtest/gtest.h>

namespace ulpscope {
namespace {

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(0, "output"), "0 outputs");
  EXPECT_EQ(counted(1, "output"), "1 output");
  EXPECT_EQ(counted(391, "output"), "391 outputs");
  EXPECT_EQ(counted(1, "output", "lies", "lie"), "1 output lies");
  EXPECT_EQ(counted(2, "output", "lies", "lie"), "2 outputs lie");
}

}  // namespace
}  // namespace ulpscope
