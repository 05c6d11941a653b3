#pragma once
// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a
// counter in, 128 random bits out, the same on host and device.
#include <cstdint>

#include "kernels/support/rounded.hpp"

namespace ulpscope {

struct PhiloxState {
  std::uint32_t c0, c1, c2, c3;
};

/// Ten rounds on counter `c` under the key (k0, k1).
ULPSCOPE_HOST_DEVICE static inline PhiloxState philox4x32(PhiloxState c, std::uint32_t k0, std::uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c.c0;
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c.c2;
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c.c1 ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c.c3 ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;  // the golden ratio
    k1 += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return c;
}

}  // namespace ulpscope
