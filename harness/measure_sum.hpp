#pragma once
#include <array>
#include <cstdint>

namespace ulpscope {

/// An exact sum of doubles: a fixed-point number wide enough for every finite double, so that the result
/// depends neither on the order of the additions nor on how they were split among threads. Holds up to 2^62
/// addends.
class ExactSum {
 public:
  void add(double x);  // finite; anything else is a programming error (assert)
  void add(const ExactSum& other);
  double value() const;  // the sum, rounded once to nearest even; +-infinity beyond the largest double

 private:
  // Limb i holds a signed multiple of 2^(32 i - 1074). Limbs may exceed 32 bits until carry() is called; 2^30
  // additions of less than 2^32 each fit in 63 bits.
  static constexpr int kLimbs = 69;  // (1074 + 1024) / 32 = 66, and 3 more for 2^62 addends and the sign
  std::array<std::int64_t, kLimbs> limb_{};
  std::int64_t pending_ = 0;  // additions since the last carry

  void carry();
};

}  // namespace ulpscope
