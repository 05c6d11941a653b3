// The reader of .npz archives: whatever the bytes, each member gives a tensor or an Error.
#include <cstddef>
#include <cstdint>

#include "harness/io/npz.hpp"
#include "reference/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpscope;
  try {
    const Npz archive(copy_bytes(data, size, "fuzz.npz"));
    for (const auto& member : archive.members()) {
      try {
        archive.bytes(member);
        const Tensor t = archive.read(member);
        if (t.size() > 0) t.view().at(t.size() - 1);
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
