#pragma once
// The last resort of the exact sum: MPFR.
#include <mpfr.h>

#include <cstddef>
#include <vector>

namespace ulpscope {

/// An MPFR number with its owner.
class MpfrNumber {
 public:
  explicit MpfrNumber(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  ~MpfrNumber() { mpfr_clear(value_); }
  MpfrNumber(const MpfrNumber&) = delete;
  MpfrNumber& operator=(const MpfrNumber&) = delete;
  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

/// A real number as two doubles: `nearest` is it correctly rounded; `sticky` is it rounded to odd (truncated,
/// with the last bit set if anything was cut off), so that rounding `sticky` to a format of at most 51 bits
/// rounds once.
struct RoundedTwice {
  double nearest = 0, sticky = 0;
};

/// Adds products of finite doubles exactly, a bounded number at a time, and rounds once at the end. Reusable.
class MpfrSum {
 public:
  MpfrSum();
  ~MpfrSum();
  MpfrSum(const MpfrSum&) = delete;
  MpfrSum& operator=(const MpfrSum&) = delete;

  void add_product(double a, double b);
  /// The sum / divisor; starts anew afterwards. Exact zero comes back as +0.
  RoundedTwice take(double divisor);

 private:
  void fold();

  std::vector<__mpfr_struct> products_;  // exact: 106 bits each
  std::size_t used_ = 0;
  MpfrNumber total_;
};

}  // namespace ulpscope
