// The reader of records: a record that can be shown and counted, or an Error.
#include <cstddef>
#include <cstdint>

#include "harness/record.hpp"
#include "harness/table.hpp"
#include "reference/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpscope;
  try {
    Record record = parse_record({reinterpret_cast<const char*>(data), size}, "fuzz.json");
    exit_code_of(record);
    sort_record(record);
    render_table(record);
  } catch (const Error&) {
  }
  return 0;
}
