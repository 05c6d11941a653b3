// Completeness: every variant's file registers it, every variant's operator has an exact reference.
#include "kernels/support/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/version.hpp"
#include "reference/operators/random_problem.hpp"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

TEST(Registry, EveryKernelFileRegisters) {
  if (!kBuiltWithCuda) GTEST_SKIP() << "this build has no CUDA: its kernel files are not compiled";
  std::set<std::string> registered;
  for (const Variant& v : variants()) registered.insert(v.source);
  const fs::path root = ULPSCOPE_SOURCE_DIR;
  // Files of these folders serve variants and are none themselves.
  const std::set<std::string> helpers{"support", "vendor", "probe"};
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root / "kernels")) {
    const fs::path relative = fs::relative(entry.path(), root);
    if (entry.path().extension() != ".cu" || helpers.count(std::next(relative.begin())->string())) continue;
    EXPECT_TRUE(registered.count(relative.string()))
        << relative << " registers no variant under its own name";
    ++files;
  }
  EXPECT_GT(files, 30);
}

TEST(Registry, EveryVariantNamesItsFileAndItsOperatorHasAReference) {
  const std::vector<std::string> ops = operator_names();
  Random pick{std::mt19937_64(71)};
  for (const Variant& v : variants()) {
    SCOPED_TRACE(v.op + " " + v.name);
    EXPECT_TRUE(fs::exists(fs::path(ULPSCOPE_SOURCE_DIR) / v.source)) << v.source;
    EXPECT_FALSE(v.summary.empty());
    EXPECT_FALSE(v.modes.empty());
    ASSERT_TRUE(v.plan && v.unsupported && v.launch);
    ASSERT_TRUE(std::binary_search(ops.begin(), ops.end(), v.op)) << "no operator of that name";
    EXPECT_GT(lower(random_problem(v.op, pick)).outputs(), 0);
  }
}

// Whatever is missing on this machine is a reason on one line, never a failure.
TEST(Registry, UnsupportedIsAReasonOnOneLine) {
  Random pick{std::mt19937_64(72)};
  for (const Variant& v : variants()) {
    const Problem p = random_problem(v.op, pick);
    for (const DType type : {DType::f32, DType::bf16, DType::f64})
      for (const Mode mode : v.modes) {
        std::string why;
        ASSERT_NO_THROW(why = v.unsupported(p, type, type, mode)) << v.op << " " << v.name;
        EXPECT_EQ(why.find('\n'), std::string::npos) << why;
      }
  }
}

}  // namespace
}  // namespace ulpscope
