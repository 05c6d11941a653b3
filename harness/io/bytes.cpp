#include "harness/io/bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "reference/error.hpp"
#include "reference/tensor.hpp"

namespace ulpscope {
namespace {

struct Descriptor {
  int fd;
  explicit Descriptor(int f) : fd(f) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Bytes map_file(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) throw Error("cannot open '" + path + "': " + std::strerror(errno));
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) throw Error("cannot inspect '" + path + "': " + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    throw Error("'" + path + "' is not a regular file: give a file, not a folder or a pipe");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {nullptr, nullptr, 0, path};
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.fd, 0);
  if (memory == MAP_FAILED) throw Error("cannot map '" + path + "': " + std::strerror(errno));
  return {std::shared_ptr<void>(memory, [size](void* p) { ::munmap(p, size); }),
          static_cast<std::byte*>(memory), size, path};
}

Bytes allocate_bytes(std::size_t size, std::string name) {
  Tensor buffer = make_tensor(DType::f64, {static_cast<std::int64_t>(size / 8 + 1)});
  auto* first = static_cast<std::byte*>(buffer.data.get());
  return {std::move(buffer.data), first, size, std::move(name)};
}

Bytes copy_bytes(const void* data, std::size_t size, std::string name) {
  Bytes copy = allocate_bytes(size, std::move(name));
  if (size > 0) std::memcpy(copy.data, data, size);
  return copy;
}

}  // namespace ulpscope
