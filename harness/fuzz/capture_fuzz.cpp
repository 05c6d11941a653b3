// The reader of captures: a consistent capture or an Error. Mutated archives rarely pass their checksums, so
// input that begins like JSON is taken for a meta.json whose members are all there.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "harness/capture.hpp"
#include "reference/error.hpp"

namespace {

using namespace ulpscope;

Tensor member(const std::string& name) {
  Tensor t = make_tensor(DType::f32, {name.size() % 2 ? 4 : 2});
  for (std::int64_t i = 0; i < t.size(); ++i) t.as<float>()[i] = 1;
  return t;
}

void check(const Capture& c) {
  std::int64_t end = 0;
  for (const Window& w : c.windows) {
    if (w.begin < end) std::abort();
    end = w.begin + w.bits.size();
    if (w.bits.size() > 0) w.bits.view().at(w.bits.size() - 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    if (size > 0 && data[0] == '{')
      check(assemble_capture({reinterpret_cast<const char*>(data), size}, "fuzz.npz", member));
    else
      check(read_capture(copy_bytes(data, size, "fuzz.npz")));
  } catch (const Error&) {
  }
  return 0;
}
