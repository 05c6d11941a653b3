#include "harness/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace ulpscope {

Progress::Progress() : last_(Clock::now()), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (terminal_ && dirty_) std::fputs("\r\033[K", stderr);
}

void Progress::say(const std::string& line) {
  const auto now = Clock::now();
  if (now - last_ < std::chrono::seconds(1)) return;
  last_ = now;
  dirty_ = true;
  if (terminal_) {
    std::fprintf(stderr, "\r\033[K%.150s", line.c_str());
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  std::fflush(stderr);
}

}  // namespace ulpscope
