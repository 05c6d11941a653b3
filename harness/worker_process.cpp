#include "harness/worker_process.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "reference/error.hpp"

namespace ulpscope {

Channel::~Channel() {
  ::close(fd_);
}

bool Channel::send(std::string_view message) const {
  const std::uint64_t size = message.size();  // both ends run the same program on one machine
  std::string framed(reinterpret_cast<const char*>(&size), sizeof size);
  framed += message;
  for (std::size_t at = 0; at < framed.size();) {
    // No SIGPIPE: a worker that died is for the caller to deal with.
    const ssize_t n = ::send(fd_, framed.data() + at, framed.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

std::optional<std::string> Channel::next() {
  std::uint64_t size = 0;
  if (pending_.size() < sizeof size) return {};
  std::memcpy(&size, pending_.data(), sizeof size);
  if (pending_.size() - sizeof size < size) return {};
  std::string message = pending_.substr(sizeof size, size);
  pending_.erase(0, sizeof size + size);
  return message;
}

bool Channel::read_some(int flags) {
  std::array<char, 1 << 16> buffer;
  ssize_t n;
  do n = ::recv(fd_, buffer.data(), buffer.size(), flags);
  while (n < 0 && errno == EINTR);
  if (n > 0) pending_.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

std::optional<std::string> Channel::receive() {
  for (;;) {
    if (auto message = next()) return message;
    if (!read_some(0)) return {};
  }
}

bool Channel::take(std::vector<std::string>& messages) {
  const bool open = read_some(MSG_DONTWAIT);
  while (auto message = next()) messages.push_back(std::move(*message));
  return open;
}

WorkerProcess::WorkerProcess(const std::function<void(Channel&)>& body) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Error(fmt::format("cannot connect to a further process: {}", std::strerror(errno)));
  std::fflush(nullptr);  // or the child would hold a copy of what is still to be written
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    throw Error(fmt::format("cannot start a further process: {}", std::strerror(error)));
  }
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left to take its results
    if (::getppid() != parent) ::_exit(1);
    ::close(ends[0]);
    int status = 0;
    try {
      Channel channel(ends[1]);
      body(channel);
    } catch (...) {
      status = 1;
    }
    ::_exit(status);
  }
  ::close(ends[1]);
  channel_.emplace(ends[0]);
}

WorkerProcess::~WorkerProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  wait();
}

std::string WorkerProcess::wait() {
  int status = 0;
  pid_t ended;
  do ended = ::waitpid(pid_, &status, 0);
  while (ended < 0 && errno == EINTR);
  pid_ = -1;
  if (ended >= 0 && WIFSIGNALED(status))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", ended >= 0 ? WEXITSTATUS(status) : -1);
}

}  // namespace ulpscope
