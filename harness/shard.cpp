#include "harness/shard.hpp"

#include <fmt/format.h>

#include <charconv>

#include "reference/error.hpp"

namespace ulpscope {

Shard parse_shard(std::string_view text) {
  Shard shard;
  const char* end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, shard.index);
  const bool slash = index.ec == std::errc() && index.ptr != end && *index.ptr == '/';
  const auto of = slash ? std::from_chars(index.ptr + 1, end, shard.of) : index;
  if (!slash || of.ec != std::errc() || of.ptr != end || shard.of < 1 || shard.of > 100000 ||
      shard.index < 1 || shard.index > shard.of)
    throw Error(fmt::format("--shard '{}' must be i/n with 1 <= i <= n, as in 3/8", text));
  return shard;
}

}  // namespace ulpscope
