// Case files in TOML, and a case's one-line text: cases or an Error, and what is accepted prints back.
#include <cstddef>
#include <cstdint>

#include <cstdlib>
#include <string_view>

#include "harness/case.hpp"
#include "reference/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpscope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto check = [](const Case& c) {
    const std::string line = to_string(c);
    if (to_string(parse_case(line)) != line) std::abort();
  };
  try {
    for (const Case& c : parse_cases(text, "fuzz.toml", "fuzz")) check(c);
  } catch (const Error&) {
  }
  try {
    const Case c = parse_case(text);
    check_case(c);
    check(c);
  } catch (const Error&) {
  }
  return 0;
}
