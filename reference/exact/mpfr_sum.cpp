#include "reference/exact/mpfr_sum.hpp"

#include <cmath>
#include <limits>

namespace ulpscope {
namespace {

constexpr std::size_t kHeld = 4096;  // products held before they are folded into the total

// Products of doubles are multiples of 2^-2148 below 2^2048; 2^63 of them need 63 bits more: the total is
// exact.
constexpr mpfr_prec_t kTotalBits = 2148 + 2048 + 64;

RoundedTwice round_twice(mpfr_srcptr x) {
  RoundedTwice r;
  r.nearest = mpfr_get_d(x, MPFR_RNDN);
  r.sticky = mpfr_get_d(x, MPFR_RNDZ);
  if (mpfr_cmp_d(x, r.sticky) == 0) return r;
  if (r.sticky == 0) {
    r.sticky = std::copysign(std::numeric_limits<double>::denorm_min(), mpfr_sgn(x));
  } else {
    int exponent;
    const double digits = std::ldexp(std::frexp(r.sticky, &exponent), 53);
    const double away = std::copysign(std::numeric_limits<double>::infinity(), r.sticky);
    if (std::fmod(digits, 2.0) == 0) r.sticky = std::nextafter(r.sticky, away);
  }
  return r;
}

}  // namespace

MpfrSum::MpfrSum() : total_(kTotalBits) {
  mpfr_set_zero(total_.get(), 1);
}

MpfrSum::~MpfrSum() {
  for (auto& p : products_) mpfr_clear(&p);
}

void MpfrSum::add_product(double a, double b) {
  if (used_ == kHeld) fold();
  if (used_ == products_.size()) mpfr_init2(&products_.emplace_back(), 106);
  mpfr_ptr p = &products_[used_++];
  mpfr_set_d(p, a, MPFR_RNDN);
  mpfr_mul_d(p, p, b, MPFR_RNDN);
}

void MpfrSum::fold() {
  MpfrNumber partial(kTotalBits);
  std::vector<mpfr_ptr> list;
  for (std::size_t i = 0; i < used_; ++i) list.push_back(&products_[i]);
  mpfr_sum(partial.get(), list.data(), list.size(), MPFR_RNDN);  // exact at this precision
  mpfr_add(total_.get(), total_.get(), partial.get(), MPFR_RNDN);
  used_ = 0;
}

RoundedTwice MpfrSum::take(double divisor) {
  fold();
  RoundedTwice r;
  if (divisor == 1) {
    r = round_twice(total_.get());
  } else {
    // total - m*divisor is a multiple of the total's last bit, for any 54-bit m: unless it is 0, the quotient
    // stays further from m than truncation at twice the total's bits can move it. So the truncated quotient
    // rounds alike.
    MpfrNumber quotient(2 * kTotalBits);
    mpfr_div_d(quotient.get(), total_.get(), divisor, MPFR_RNDZ);
    r = round_twice(quotient.get());
  }
  mpfr_set_zero(total_.get(), 1);
  return r;
}

}  // namespace ulpscope
