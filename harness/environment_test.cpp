#include "harness/environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ulpscope {
namespace {

TEST(Environment, RecordsWhatChangesArithmeticAndNothingElse) {
  setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  setenv("CUBLAS_EMULATE_SINGLE_PRECISION", "1", 1);
  setenv("HARMLESS_TOKEN", "not for records", 1);
  const auto e = describe_environment({"ulpscope", "run", "smoke"});
  unsetenv("NVIDIA_TF32_OVERRIDE");
  unsetenv("CUBLAS_EMULATE_SINGLE_PRECISION");
  unsetenv("HARMLESS_TOKEN");
  EXPECT_EQ(e["variables"]["NVIDIA_TF32_OVERRIDE"], "0");
  EXPECT_EQ(e["variables"]["CUBLAS_EMULATE_SINGLE_PRECISION"], "1");
  EXPECT_FALSE(e["variables"].contains("HARMLESS_TOKEN"));
  EXPECT_FALSE(describe_environment({})["variables"].contains("NVIDIA_TF32_OVERRIDE"));
  EXPECT_EQ(e["argv"], (std::vector<std::string>{"ulpscope", "run", "smoke"}));
  EXPECT_TRUE(changes_arithmetic("CUBLAS_WORKSPACE_CONFIG"));
  EXPECT_TRUE(changes_arithmetic("OMP_NUM_THREADS"));
  EXPECT_FALSE(changes_arithmetic("PATH"));
  EXPECT_FALSE(changes_arithmetic("HOME"));
  EXPECT_TRUE(changes_arithmetic("ULPSCOPE_SIMD"));
  EXPECT_FALSE(changes_arithmetic("ULPSCOPE_PRESET"));  // how it was built
  EXPECT_FALSE(changes_arithmetic("ULPSCOPE_TARGETS"));
}

TEST(Environment, NamesToolHostAndDevice) {
  setenv("ULPSCOPE_HOST", "somewhere", 1);
  const auto e = describe_environment({});
  unsetenv("ULPSCOPE_HOST");
  EXPECT_FALSE(e["version"].get<std::string>().empty());
  EXPECT_FALSE(e["commit"].get<std::string>().empty());
  EXPECT_EQ(e["host"]["name"], "somewhere");
  EXPECT_GT(e["host"]["cores"].get<int>(), 0);
  EXPECT_GT(e["host"]["memory_bytes"].get<std::int64_t>(), 1 << 20);
  EXPECT_FALSE(e["host"]["cpu"].get<std::string>().empty());
  EXPECT_FALSE(e["build"]["compiler"].get<std::string>().empty());
  const bool available = e["device"]["available"];
  EXPECT_EQ(e["device"].contains("name"), available);
  EXPECT_EQ(e["device"].contains("reason"), !available);
}

}  // namespace
}  // namespace ulpscope
