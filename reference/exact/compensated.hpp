#pragma once
// A sum by error-free transformations, three doubles long, with a bound that is computed along with it.
#include <cmath>
#include <cstdint>
#include <optional>

#include "reference/formats.hpp"

namespace ulpscope {

/// x + y = sum + error, exactly (Knuth's TwoSum).
inline double two_sum(double x, double y, double& error) {
  const double sum = x + y, z = sum - x;
  error = (x - (sum - z)) + (y - z);
  return sum;
}

/// Sum of doubles as head + middle + tail. Head and middle lose nothing: each rounding error of the head is
/// added to the middle, each of the middle's to the tail, and only additions into the tail round. So the
/// truth differs from head + middle + tail by at most n*2^-53 times the sum of the magnitudes that went into
/// the tail; where none did, the sum is exact.
class CompensatedSum {
 public:
  void add(double x) {
    double lost, lost_again;
    head_ = two_sum(head_, x, lost);
    middle_ = two_sum(middle_, lost, lost_again);
    tail_ += lost_again;
    tail_magnitude_ += std::fabs(lost_again);
    magnitude_ += std::fabs(x);
    ++terms_;
  }

  double head() const { return head_; }
  double middle() const { return middle_; }
  double tail() const { return tail_; }
  /// |truth - (head + middle + tail)| is at most this. 1.01 pays for the roundings of the bound itself (n <
  /// 2^45).
  double error() const { return tail_magnitude_ * (static_cast<double>(terms_) * 0x1p-53 * 1.01); }
  /// An upper bound of the sum of magnitudes.
  double magnitude() const { return magnitude_ * (1 + static_cast<double>(terms_ + 1) * 0x1p-53 * 1.01); }
  bool no_magnitude() const { return magnitude_ == 0; }

 private:
  double head_ = 0, middle_ = 0, tail_ = 0, tail_magnitude_ = 0, magnitude_ = 0;
  std::int64_t terms_ = 0;
};

struct Settled {
  double value = 0;           // the true value's nearest double, or a neighbour (fp64 output: the nearest)
  std::uint64_t rounded = 0;  // the true value rounded once to the output format
};

/// Rounds (head + middle + tail +- error) / divisor once to `out` if that is decided; an exact zero comes
/// back as +0.
std::optional<Settled> settle(double head, double middle, double tail, double error, double divisor,
                              DType out);

inline std::optional<Settled> settle(const CompensatedSum& sum, double divisor, DType out) {
  return settle(sum.head(), sum.middle(), sum.tail(), sum.error(), divisor, out);
}

}  // namespace ulpscope
