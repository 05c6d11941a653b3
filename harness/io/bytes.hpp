#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ulpscope {

/// A run of bytes that stays valid while `owner` lives: a mapped file, a part of one, or a buffer.
struct Bytes {
  std::shared_ptr<void> owner;
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::string name;  // what messages call it: "d.npz", "d.npz:x"

  /// The bytes [from, from + count), sharing the owner. The caller has checked the range.
  Bytes part(std::size_t from, std::size_t count) const { return {owner, data + from, count, name}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data), size}; }
};

/// Maps a regular file. Pages are private and copied on write, so a tensor over them may be scribbled on
/// without changing the file. Throws Error if it is missing, a folder, a pipe or unreadable.
Bytes map_file(const std::string& path);

/// Uninitialised memory, 64-byte aligned. Throws Error when memory is short.
Bytes allocate_bytes(std::size_t size, std::string name);

/// A copy of `size` bytes at `data`, 64-byte aligned.
Bytes copy_bytes(const void* data, std::size_t size, std::string name);

}  // namespace ulpscope
