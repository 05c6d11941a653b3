#pragma once
// In which order a kernel walks the terms of one output: a term's number -> its channel and tap. Numbers
// count places, not terms: a tap on padding keeps its number, and so does an empty place that fills up a
// chunk of channels.
#include <string>

#include "kernels/support/host_device.hpp"

namespace ulpscope {

/// A term of a convolution: channel within the group, and tap (row r, column s). No channel: an empty place.
struct Tap {
  int c, r, s;
};

/// Chunks of `chunk` channels, within them the taps, within a tap the channels of the chunk: "order c/8 kh kw
/// c". chunk 1 is the canonical "c kh kw"; chunk = channels is "kh kw c".
struct TapOrder {
  int channels = 1, kh = 1, kw = 1, chunk = 1;

  ULPSCOPE_HD int taps() const { return kh * kw; }
  /// Places, empty ones included.
  ULPSCOPE_HD int depth() const { return (channels + chunk - 1) / chunk * chunk * taps(); }

  ULPSCOPE_HD Tap at(int place) const {
    if (taps() == 1) return {place, 0, 0};  // chunks of a single tap follow each other in channel order
    int tap, c;
    if (chunk == 1) {
      c = place / taps();
      tap = place - c * taps();
    } else {
      const int block = place / (chunk * taps());
      const int rest = place - block * (chunk * taps());
      tap = rest / chunk;
      c = block * chunk + (rest - tap * chunk);
    }
    if (kh == 1) return {c, 0, tap};
    const int r = tap / kw;
    return {c, r, tap - r * kw};
  }
};

/// The order of a three-pass kernel (plan text) whose channels come as `order`, "c/8 kw c": the small
/// products first, and in either part all passes of a step before the next step.
inline std::string three_pass_order(const std::string& order) {
  const auto last = order.rfind(' ');
  return "pass/2 " + order.substr(0, last) + " pass" + order.substr(last);
}

}  // namespace ulpscope
