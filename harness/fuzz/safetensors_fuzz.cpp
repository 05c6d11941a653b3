// The reader of safetensors files: whatever the bytes, each entry gives a tensor or an Error.
#include <cstddef>
#include <cstdint>

#include "harness/io/safetensors.hpp"
#include "reference/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpscope;
  try {
    const Safetensors file(copy_bytes(data, size, "fuzz.safetensors"));
    for (const auto& name : file.names()) {
      try {
        const Tensor t = file.read(name);
        if (t.size() > 0) t.view().at(t.size() - 1);
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
