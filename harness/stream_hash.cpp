#include "harness/stream_hash.hpp"

#include <array>
#include <cstdio>

namespace ulpscope {

void StreamHash::add(std::size_t chunk, const void* data, std::size_t bytes) {
  XXH128_canonicalFromHash(&parts_.at(chunk), XXH3_128bits(data, bytes));
}

std::string StreamHash::hex() const {
  const XXH128_hash_t hash = XXH3_128bits(parts_.data(), parts_.size() * sizeof parts_[0]);
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text.data();
}

}  // namespace ulpscope
