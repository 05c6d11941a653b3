// This machine's tensor cores against the table, where there are any.
#include <gtest/gtest.h>

#include "harness/probe/step_probe.hpp"
#include "kernels/support/device_info.hpp"

namespace ulpscope {
namespace {

TEST(StepProbeOnDevice, TheDeviceIsWhatTheTableSays) {
  if (!device_info().available) GTEST_SKIP() << device_info().reason;
  const DeviceArithmetic& device = device_arithmetic();
  if (!device.agrees) GTEST_SKIP() << device.why;
  EXPECT_TRUE(*device.agrees) << device.why;
  for (const StepFindings& s : device.steps) EXPECT_EQ(s.equal, s.tested) << to_string(s.kind);
}

}  // namespace
}  // namespace ulpscope
