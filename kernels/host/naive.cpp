// Naive: every term in canonical order.
// Order: one chain (convolutions: channels, then taps).
// Promise: fp32 FMA; taps on padding are left out.
// Cost: one vector FMA per term and eight outputs, the sums loaded and stored each time.
#include "kernels/host/rows.hpp"

namespace ulpscope::host {
namespace {

class NaiveRow {
 public:
  NaiveRow(const Loops& loop, std::int64_t length) : loop_(loop) { loop.fill(sum_, 0, length); }
  void add(const RowTerm& t) { loop_.fma(sum_ + t.first, t.step, t.a, t.a_step, t.b, t.b_step, t.count); }
  const float* finish() const { return sum_; }

 private:
  const Loops& loop_;
  float sum_[kRow];
};

const Register variant{
    {.name = "host_naive",
     .summary = "CPU: one fp32 FMA chain in canonical order",
     .source = "kernels/host/naive.cpp",
     .where = Where::host,
     .plan = [](const Problem&, Mode) { return std::string("fp32 | fma"); },
     .unsupported = unsupported,
     .channels_last = unsupported,
     .launch = [](const LaunchArgs& args) { return launch_rows<NaiveRow>("naive", args); }},
    all_operators()};

}  // namespace
}  // namespace ulpscope::host
