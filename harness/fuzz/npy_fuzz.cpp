// The reader of .npy files, in every format that may be asked for: any bytes give a tensor or an Error.
#include <cstddef>
#include <cstdint>

#include <optional>

#include "harness/io/npy.hpp"
#include "reference/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpscope;
  const Bytes file = copy_bytes(data, size, "fuzz.npy");
  for (const std::optional<DType> as :
       {std::optional<DType>(), std::optional(DType::bf16), std::optional(DType::f64)}) {
    try {
      const Tensor t = read_npy(file, as);
      double sum = 0;
      for (std::int64_t i = 0; i < t.size(); ++i) sum += t.view().at(i);
      (void)sum;
    } catch (const Error&) {
    }
  }
  return 0;
}
