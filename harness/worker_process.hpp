#pragma once
// A forked process that does a part of the work and talks to the one that started it in messages. Whatever
// ends it (a fault in a library, a kill) ends it alone.
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope {

/// One end of the connection.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  int fd() const { return fd_; }

  bool send(std::string_view message) const;  // false: the other side is gone
  std::optional<std::string> receive();       // waits for a whole message; none: the other side is gone

  /// Takes in what has arrived, without waiting, and appends whole messages. False: the other side is gone.
  bool take(std::vector<std::string>& messages);

 private:
  bool read_some(int flags);
  std::optional<std::string> next();
  int fd_;
  std::string pending_;
};

class WorkerProcess {
 public:
  /// Forks. The child calls `body` and ends without running this process's destructors: with status 0 after
  /// body returned, 1 after it threw. It must be started before this process uses a GPU, which no child can
  /// use then. Throws Error if there can be no further process.
  explicit WorkerProcess(const std::function<void(Channel&)>& body);
  ~WorkerProcess();  // kills it if it still runs
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  Channel& channel() { return *channel_; }

  /// Waits for its end; how it ended, in words: "was killed by signal 9 (Killed)", "ended with status 1".
  std::string wait();

 private:
  pid_t pid_ = -1;
  std::optional<Channel> channel_;
};

}  // namespace ulpscope
