#include "harness/io/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& step, const std::string& path, int error) {
  throw Error("cannot " + step + " '" + path + "': " + std::strerror(error));
}

void flush(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) fail("open", path, errno);
  const int status = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  // Some file systems cannot flush a folder (EINVAL); the rename is still atomic there.
  if (status != 0 && error != EINVAL) fail("flush", path, error);
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  static std::atomic<unsigned> counter{0};
  beside_ = path_ + ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  const fs::path folder = fs::path(path_).parent_path();
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) throw Error("cannot make the folder '" + folder.string() + "': " + error.message());
  if (fs::is_directory(path_, error)) throw Error("'" + path_ + "' is a folder: give a file name to write");
}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlink(beside_.c_str());
}

void AtomicFile::commit() {
  flush(beside_, O_RDONLY);
  if (::rename(beside_.c_str(), path_.c_str()) != 0) fail("rename to", path_, errno);
  committed_ = true;
  const fs::path folder = fs::path(path_).parent_path();
  flush(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY);
}

void write_text(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  std::FILE* out = std::fopen(file.beside().c_str(), "wbe");
  if (!out) fail("create", file.beside(), errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const int write_error = errno;
  const bool closed = std::fclose(out) == 0;
  if (!written || !closed) fail("write", path, written ? errno : write_error);
  file.commit();
}

}  // namespace ulpscope
