// Pairwise: neighbours are added, then neighbouring sums, and so on.
// Order: a balanced tree over the places in canonical order; an odd one waits for the next level.
// Promise: fp32, products rounded; ceil(log2 n) + 1 roundings on a path.
// Cost: a product and an addition a term, and log2 n rows of sums at hand.
#include "kernels/host/rows.hpp"

namespace ulpscope::host {
namespace {

/// Sums of 2^i places each, as the binary digits of the number of places so far: a new place is a sum of one,
/// and two sums of the same size merge. That is adding neighbours level by level, without holding a level.
class PairwiseRow {
 public:
  PairwiseRow(const Loops& loop, std::int64_t length) : loop_(loop), length_(length) {}

  void add(const RowTerm& t) {
    while (places_ < t.place) push(true), merge();  // no output of the row has these
    const bool partial = t.count != length_;
    float* leaf = push(partial);
    if (partial) {
      for (std::int64_t i = 0; i < t.count; ++i)
        leaf[t.first + i * t.step] = 0, any_[t.first + i * t.step] = true;
    } else {
      whole_ = true;
    }
    loop_.fma(leaf + t.first, t.step, t.a, t.a_step, t.b, t.b_step, t.count);
    merge();
  }
  const float* finish() {
    if (depth_ == 0) push(true);
    while (depth_ > 1) {
      loop_.add(level_[depth_ - 2], level_[depth_ - 1], length_);
      --depth_;
    }
    for (std::int64_t j = 0; j < length_; ++j)
      if (!whole_ && !any_[j]) level_[0][j] = 0;
    return level_[0];
  }

 private:
  // A place that an output lacks is -0 there: x + -0 is x, whatever the sign of x.
  float* push(bool empty) {
    loop_.fill(level_[depth_], empty ? -0.0f : 0.0f, length_);
    return level_[depth_++];
  }
  void merge() {
    ++places_;
    for (std::int64_t n = places_; n % 2 == 0; n /= 2) {
      loop_.add(level_[depth_ - 2], level_[depth_ - 1], length_);
      --depth_;
    }
  }

  const Loops& loop_;
  std::int64_t length_, places_ = 0;
  int depth_ = 0;
  bool whole_ = false, any_[kRow] = {};
  float level_[64][kRow];  // one for each binary digit of a 63-bit number of places
};

const Register variant{
    {.name = "host_pairwise",
     .summary = "CPU: fp32 products added pairwise",
     .source = "kernels/host/pairwise.cpp",
     .where = Where::host,
     .plan = [](const Problem&, Mode) { return std::string("fp32 | fma | pairwise"); },
     .unsupported = unsupported,
     .channels_last = unsupported,
     .launch = [](const LaunchArgs& args) { return launch_rows<PairwiseRow>("pairwise", args); }},
    all_operators()};

}  // namespace
}  // namespace ulpscope::host
