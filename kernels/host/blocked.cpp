// Blocked: a fresh chain for every 64 places, block sums added in order.
// Order: canonical, cut into chunks of 64.
// Promise: fp32 FMA; 64 + n/64 roundings on a path instead of n.
// Cost: as naive, and one more addition per 64 terms.
#include <cstring>

#include "kernels/host/rows.hpp"

namespace ulpscope::host {
namespace {

constexpr std::int64_t kChunk = 64;

/// Sums of one row. A chunk in which an output has no term at all leaves that output as it is.
class BlockedRow {
 public:
  BlockedRow(const Loops& loop, std::int64_t length) : loop_(loop), length_(length) {
    loop.fill(total_, -0.0f, length);  // x + -0 is x, whatever the sign of x
    open();
  }
  void add(const RowTerm& t) {
    if (t.place / kChunk != chunk_) {
      close();
      open();
      chunk_ = t.place / kChunk;
    }
    loop_.fma(sum_ + t.first, t.step, t.a, t.a_step, t.b, t.b_step, t.count);
    if (t.count == length_) {
      whole_ = true;
    } else if (!whole_) {
      for (std::int64_t i = 0; i < t.count; ++i) touched_[t.first + i * t.step] = true;
    }
  }
  const float* finish() {
    close();
    for (std::int64_t j = 0; j < length_; ++j)
      if (!any_[j]) total_[j] = 0;
    return total_;
  }

 private:
  void open() {
    loop_.fill(sum_, 0, length_);
    std::memset(touched_, 0, sizeof touched_);
    whole_ = false;
  }
  void close() {
    for (std::int64_t j = 0; j < length_; ++j) {
      const bool present = whole_ || touched_[j];
      any_[j] = any_[j] || present;
      if (!present) sum_[j] = -0.0f;
    }
    loop_.add(total_, sum_, length_);
  }

  const Loops& loop_;
  std::int64_t length_, chunk_ = 0;
  bool whole_ = false;
  bool touched_[kRow] = {}, any_[kRow] = {};
  float sum_[kRow], total_[kRow];
};

const Register variant{
    {.name = "host_blocked",
     .summary = "CPU: fp32 FMA chains of 64 terms, added in order",
     .source = "kernels/host/blocked.cpp",
     .where = Where::host,
     .plan = [](const Problem&, Mode) { return std::string("fp32 | fma | chunks 64"); },
     .unsupported = unsupported,
     .channels_last = unsupported,
     .launch = [](const LaunchArgs& args) { return launch_rows<BlockedRow>("blocked 64", args); }},
    all_operators()};

}  // namespace
}  // namespace ulpscope::host
