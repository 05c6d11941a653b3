#include "kernels/support/fill_device.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "harness/fill.hpp"
#include "harness/inputs.hpp"
#include "kernels/support/device.hpp"
#include "kernels/support/device_info.hpp"
#include "reference/formats.hpp"

namespace ulpscope {
namespace {

TEST(FillDevice, GivesTheHostsBitsForEveryKindAndFormat) {
  if (!device_info().available) GTEST_SKIP() << device_info().reason;
  cuda::Stream stream;
  constexpr std::int64_t n = 100'003;
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const std::string& kind : fill_kinds()) {
      Case c = parse_case("gemm 1x100003 * 100003x1 seed=77");
      c.in = type;
      c.fill_a = c.fill_b = default_fill(kind);
      if (kind == "wide") c.fill_a.lo = c.fill_b.lo = -10, c.fill_a.hi = c.fill_b.hi = 10;
      const CaseFills fills = resolve_fills(c);
      for (const TensorFill* fill : {&fills.a, &fills.b}) {
        const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(size_of(type));
        std::vector<unsigned char> host(bytes), device(bytes);
        fill_tensor(*fill, 0, n, host.data());
        const cuda::DeviceMemory memory(bytes);
        cuda::fill_on_device(fill->params, fill->key, n, memory.data(), stream.get());
        stream.synchronize("fill_on_device");
        cuda::copy_to_host(device.data(), memory.data(), bytes, stream.get());
        stream.synchronize("copy");
        EXPECT_EQ(host, device) << kind << " " << name_of(type);
      }
    }
}

}  // namespace
}  // namespace ulpscope
