#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include <xxhash.h>

namespace ulpscope {

/// hash_bytes (harness/inputs.hpp) of data that passes by in chunks of kChunk bytes, in any order and from
/// several threads at once, each chunk once.
class StreamHash {
 public:
  static constexpr std::size_t kChunk = std::size_t{16} << 20;
  explicit StreamHash(std::size_t total_bytes)
      : parts_((total_bytes + kChunk - 1) / kChunk + (total_bytes == 0)) {}
  void add(std::size_t chunk, const void* data, std::size_t bytes);  // all but the last have kChunk bytes
  std::string hex() const;

 private:
  std::vector<XXH128_canonical_t> parts_;
};

}  // namespace ulpscope
