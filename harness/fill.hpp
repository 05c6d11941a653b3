#pragma once
// Fills runs of elements on the host, at the instruction-set level of this machine.
#include <cstdint>

#include "kernels/support/fill.hpp"

namespace ulpscope {

/// Elements [begin, begin + count) into `out` (the first of them goes to out[0]); `begin` is even. Same bits
/// as fill_element. One thread.
void fill_range(const FillParams& params, const FillKey& key, std::int64_t begin, std::int64_t count,
                void* out);

namespace simd_base {
void fill_range(const FillParams&, const FillKey&, std::int64_t begin, std::int64_t count, void* out);
}
namespace simd_v3 {
void fill_range(const FillParams&, const FillKey&, std::int64_t begin, std::int64_t count, void* out);
}

}  // namespace ulpscope
