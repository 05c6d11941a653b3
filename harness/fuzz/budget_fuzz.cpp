// Budgets in TOML: rules or an Error, and what is accepted is written back as it was read.
#include <cstddef>
#include <cstdint>

#include <cstdlib>
#include <string_view>

#include "harness/suite.hpp"
#include "reference/error.hpp"
#include "reports/budget.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpscope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const Budget& b : parse_budgets(text, "fuzz.toml")) {
      const std::string written = to_toml(b);
      if (to_toml(parse_budgets(written, "fuzz.toml").at(0)) != written) std::abort();
    }
  } catch (const Error&) {
  }
  try {
    parse_suite(text, "fuzz.toml", "fuzz");
  } catch (const Error&) {
  }
  return 0;
}
