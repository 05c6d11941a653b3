#include "kernels/vendor/shared_library.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SharedLibrary, AbsentLibraryIsAReasonNotAFailure) {
  const SharedLibrary library("Nothing", {"libulpscope_does_not_exist.so.1"}, "ULPSCOPE_LIB_TEST");
  EXPECT_FALSE(library.loaded());
  EXPECT_THAT(library.missing(), HasSubstr("Nothing is not here"));
  EXPECT_THAT(library.missing(), HasSubstr("ULPSCOPE_LIB_TEST"));
  EXPECT_THAT(library.missing(), Not(HasSubstr("\n")));
  EXPECT_THROW(library.symbol("anything"), Error);
}

TEST(SharedLibrary, LoadsFunctionsAndSaysWhichAreMissing) {
  const SharedLibrary library("the maths library", {"libm.so.6"}, "ULPSCOPE_LIB_TEST");
  ASSERT_TRUE(library.loaded()) << library.missing();
  double (*square_root)(double) = nullptr;
  library.load(square_root, "sqrt");
  EXPECT_EQ(square_root(4.0), 2.0);
  EXPECT_THAT(library.path_of(reinterpret_cast<const void*>(square_root)), HasSubstr("libm"));
  try {
    library.symbol("no_such_function");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("no_such_function"));
  }
}

TEST(SharedLibrary, OverrideIsTheOnlyFileTried) {
  setenv("ULPSCOPE_LIB_TEST", "/nonexistent/libm.so.6", 1);
  const SharedLibrary library("the maths library", {"libm.so.6"}, "ULPSCOPE_LIB_TEST");
  unsetenv("ULPSCOPE_LIB_TEST");
  EXPECT_FALSE(library.loaded());
  EXPECT_THAT(library.missing(), HasSubstr("/nonexistent/libm.so.6"));
}

}  // namespace
}  // namespace ulpscope::vendor
