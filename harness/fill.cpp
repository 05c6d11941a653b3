#include "harness/fill.hpp"

#include "reference/simd.hpp"

namespace ulpscope {

void fill_range(const FillParams& params, const FillKey& key, std::int64_t begin, std::int64_t count,
                void* out) {
  if (simd_level() == SimdLevel::v3)
    simd_v3::fill_range(params, key, begin, count, out);
  else
    simd_base::fill_range(params, key, begin, count, out);
}

}  // namespace ulpscope
