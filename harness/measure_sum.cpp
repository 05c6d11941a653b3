#include "harness/measure_sum.hpp"

#include <bit>
#include <cassert>
#include <cmath>

namespace ulpscope {

void ExactSum::add(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const int field = static_cast<int>((bits >> 52) & 0x7ff);
  assert(field != 0x7ff);
  std::uint64_t significand = bits & ((1ull << 52) - 1);
  if (field != 0) significand |= 1ull << 52;
  if (significand == 0) return;
  const int position = field == 0 ? 0 : field - 1;  // weight of the last bit, in units of 2^-1074
  const unsigned __int128 shifted = static_cast<unsigned __int128>(significand) << (position % 32);
  const bool negative = bits >> 63;
  for (int i = 0; i < 3; ++i) {
    const auto piece = static_cast<std::int64_t>(static_cast<std::uint32_t>(shifted >> (32 * i)));
    limb_[static_cast<std::size_t>(position / 32 + i)] += negative ? -piece : piece;
  }
  if (++pending_ == (1 << 30)) carry();
}

void ExactSum::add(const ExactSum& other) {
  ExactSum settled = other;
  settled.carry();
  carry();
  for (std::size_t i = 0; i < limb_.size(); ++i) limb_[i] += settled.limb_[i];
  pending_ = 2;
}

// Leaves limbs 0 .. kLimbs-2 in [0, 2^32); the last one carries the sign.
void ExactSum::carry() {
  std::int64_t over = 0;
  for (std::size_t i = 0; i + 1 < limb_.size(); ++i) {
    const std::int64_t v = limb_[i] + over;
    over = v >> 32;  // arithmetic shift: floor
    limb_[i] = v & 0xffffffff;
  }
  limb_.back() += over;
  pending_ = 0;
}

double ExactSum::value() const {
  ExactSum s = *this;
  s.carry();
  const bool negative = s.limb_.back() < 0;
  if (negative) {
    for (auto& l : s.limb_) l = -l;
    s.carry();
  }
  int top = kLimbs - 1;
  while (top >= 0 && s.limb_[static_cast<std::size_t>(top)] == 0) --top;
  if (top < 0) return 0;
  // The four leading limbs hold at least 97 significant bits; whatever lies below only matters as "not zero",
  // which the last bit of a 64-bit window, well below the rounding position, can carry.
  unsigned __int128 head = 0;
  for (int i = 0; i < 4; ++i)
    head = head << 32 | static_cast<std::uint64_t>(top >= i ? s.limb_[static_cast<std::size_t>(top - i)] : 0);
  bool sticky = false;
  for (int i = 0; i < top - 3; ++i) sticky |= s.limb_[static_cast<std::size_t>(i)] != 0;
  const int lead = 127 - (head >> 64 ? std::countl_zero(static_cast<std::uint64_t>(head >> 64))
                                     : 64 + std::countl_zero(static_cast<std::uint64_t>(head)));
  // Exponent of the window's last bit. Below 2^-1074 nothing is ever set, so subnormal sums come out exact.
  const int base = 32 * (top - 3) - 1074;
  int drop = lead - 52;                          // bits of head to round away to keep 53
  if (base + drop < -1074) drop = -1074 - base;  // the sum is a multiple of 2^-1074: exact from there on
  std::uint64_t kept;
  if (drop <= 0) {
    kept = static_cast<std::uint64_t>(head << -drop);
  } else {
    kept = static_cast<std::uint64_t>(head >> drop);
    const unsigned __int128 rest = head & ((static_cast<unsigned __int128>(1) << drop) - 1);
    const unsigned __int128 half = static_cast<unsigned __int128>(1) << (drop - 1);
    if (rest > half || (rest == half && (sticky || (kept & 1)))) ++kept;
  }
  const double magnitude = std::ldexp(static_cast<double>(kept), base + drop);
  return negative ? -magnitude : magnitude;
}

}  // namespace ulpscope
