#pragma once
#include <chrono>
#include <string>

namespace ulpscope {

/// Says on stderr what long work is doing: nothing during the first second, then at most one line a second;
/// on a terminal the line replaces the one before.
class Progress {
 public:
  Progress();
  ~Progress();  // clears the line on a terminal
  void say(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_;
  bool terminal_, dirty_ = false;
};

}  // namespace ulpscope
