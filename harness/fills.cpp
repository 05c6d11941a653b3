// From a case's fills to FillParams: the ranges argued here are what make the promises of cases/README.md
// true.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "harness/inputs.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

static_assert(static_cast<int>(FillFormat::f64) == static_cast<int>(DType::f64) &&
              static_cast<int>(FillFormat::bf16) == static_cast<int>(DType::bf16));

[[noreturn]] void refuse(const Case& c, const std::string& message) {
  throw Error("case '" + c.name + "': " + message);
}

double largest(DType type) {
  const FormatInfo& f = info(type);
  return std::ldexp(2 - std::ldexp(1.0, 1 - f.precision), f.emax);
}

// The largest number of `precision` bits below x (normal range). Below 0 there is no largest one, and a
// uniform fill up to 0 never reaches it, so 0 itself serves.
double below(double x, int precision) {
  if (x == 0) return 0;
  const double y = std::nextafter(x, -std::numeric_limits<double>::infinity());
  const double grid = std::ldexp(1.0, std::ilogb(y) - (precision - 1));
  return std::floor(y / grid) * grid;
}

void set_range(const Case& c, const Fill& f, FillParams& p, int precision) {
  const double most = largest(static_cast<DType>(p.format));
  if (!(std::abs(f.lo) <= most && std::abs(f.hi) <= most))
    refuse(c, f.kind + "'s range lies beyond the largest number of " + name_of(static_cast<DType>(p.format)));
  // 2^-40: tf32 then stays far above its subnormals, where 11 bits would no longer fit.
  if (!(f.lo < f.hi) || f.hi - f.lo < 0x1p-40)
    refuse(c, f.kind + " needs lo < hi (at least 2^-40 apart), got [" + std::to_string(f.lo) + ", " +
                  std::to_string(f.hi) + ")");
  p.lo = f.lo;
  p.range = f.hi - f.lo;
  p.top = below(f.hi, precision);
  p.grid = std::min(p.precision, 52);
}

void set_specials(DType type, FillParams& p) {
  const FormatInfo& f = info(type);
  const double inf = std::numeric_limits<double>::infinity();
  const double values[kSpecialValues] = {inf,
                                         -inf,
                                         std::numeric_limits<double>::quiet_NaN(),
                                         0.0,
                                         -0.0,
                                         largest(type),
                                         -largest(type),
                                         std::ldexp(1.0, f.emin),
                                         std::ldexp(1.0, f.emin - f.precision + 1)};
  for (int i = 0; i < kSpecialValues; ++i) p.specials[i] = round_to_bits(type, values[i]);
}

// Fan-in as PyTorch's initialisation computes it: weight.size(1) times the kernel's extent. For a transposed
// convolution that is Cout/groups * k, not the number of terms.
double fan_in(const Case& c, const Contraction& contraction) {
  const std::string& op = c.problem.params.op;
  const Shape& w = c.problem.b;
  if (op.ends_with("_backward_weight") || !(op.starts_with("conv") || op == "linear"))
    return static_cast<double>(contraction.terms());
  double n = 1;
  for (std::size_t axis = 1; axis < w.size(); ++axis) n *= static_cast<double>(w[axis]);
  return n;
}

FillParams resolve(const Case& c, const Contraction& contraction, const Fill& f, DType type) {
  FillParams p;
  const FormatInfo& format = info(type);
  p.format = static_cast<FillFormat>(type);
  p.precision = format.precision;
  p.emin = format.emin;
  if (f.kind == "uniform") {
    p.kind = FillKind::uniform;
    set_range(c, f, p, format.precision);
  } else if (f.kind == "default_weight") {
    const double bound = 1 / std::sqrt(fan_in(c, contraction));
    p.kind = FillKind::uniform;
    set_range(c, {"uniform", -bound, bound}, p, format.precision);
  } else if (f.kind == "normal") {
    if (!std::isfinite(f.mean) || !(f.stddev > 0) || !std::isfinite(f.stddev))
      refuse(c, "normal needs a finite mean and stddev > 0");
    p.kind = FillKind::normal;
    p.mean = f.mean;
    p.stddev = f.stddev;
  } else if (f.kind == "integers") {
    if (f.lo != std::floor(f.lo) || f.hi != std::floor(f.hi) || !(f.lo < f.hi) || f.hi - f.lo > 0x1p31)
      refuse(c, "integers needs whole numbers lo < hi");
    p.kind = FillKind::integers;
    p.lo = f.lo;
    p.choices = static_cast<std::uint32_t>(f.hi - f.lo);
  } else if (f.kind == "tf32") {
    p.kind = FillKind::tf32;
    set_range(c, f, p, std::min(11, format.precision));
  } else if (f.kind == "wide") {
    if (f.lo != std::floor(f.lo) || f.hi != std::floor(f.hi) || f.lo > f.hi || f.lo < format.emin ||
        f.hi > format.emax)
      refuse(c, "wide needs whole exponents lo <= hi within [" + std::to_string(format.emin) + ", " +
                    std::to_string(format.emax) + "] of " + format.name);
    p.kind = FillKind::wide;
    p.lo = f.lo;
    p.choices = static_cast<std::uint32_t>(f.hi - f.lo + 1);
  } else if (f.kind == "subnormal") {
    p.kind = FillKind::subnormal;
  } else if (f.kind == "special") {
    if (!(f.rate > 0 && f.rate <= 0.5)) refuse(c, "special needs a rate in (0, 0.5]");
    p.kind = FillKind::special;
    set_range(c, f, p, format.precision);
    p.special_threshold = static_cast<std::uint32_t>(f.rate * 0x1p32);
    set_specials(type, p);
  } else if (f.kind == "condition") {
    p.kind = FillKind::cancel;  // the reduction axis is set by set_condition
    set_range(c, {"uniform", 0.5, 1}, p, format.precision);
  } else if (f.kind == "ones") {
    p.kind = FillKind::ones;
  } else if (f.kind == "zeros") {
    p.kind = FillKind::zeros;
  } else {
    default_fill(f.kind);  // throws, with a suggestion
  }
  return p;
}

// Gives every output of the contraction the condition number S / |sum| = about `condition`.
// Along one reduction axis of size 2h + 1 (or 2h + 2, the last then being zero) that no output axis is
// coupled with, A's second half repeats its first and B's is the first negated: those products cancel
// exactly, whatever the other axes and missing taps do. Position 2h alone is left, with A = 1 and B = last.
// First halves are uniform on [1/2, 1), of mean 3/4, so S is about 2h * (3/4)^2 + last per remaining tap,
// hence `last`.
void set_condition(const Case& c, const Contraction& contraction, FillParams& a, FillParams& b) {
  const bool single = contraction.b_is_ones;
  if (c.fill_a.kind != "condition" || (!single && c.fill_b != c.fill_a))
    refuse(c, "condition is a property of both operands: give a and b the same fill");
  if (contraction.has_bias && c.fill_bias.kind != "zeros")
    refuse(c, "condition takes no bias, or one of zeros: anything else would end the cancellation");
  const RedAxis* axis = nullptr;
  for (const RedAxis& r : contraction.red)
    if (r.coupling.out_axis < 0 && r.size >= 3) {
      axis = &r;
      break;
    }
  if (!axis)
    refuse(c,
           "condition needs a reduction axis of at least 3 that is no kernel tap (channels, k): this problem "
           "has none");
  const double half = static_cast<double>((axis->size - 1) / 2);
  const double mean = single ? 0.75 : 0.5625;
  if (!(c.fill_a.condition > 1) || !std::isfinite(c.fill_a.condition))
    refuse(c, "condition must be greater than 1");
  const double last = 2 * half * mean / (c.fill_a.condition - 1);
  const FormatInfo& format = info(c.in);
  if (last < std::ldexp(1.0, format.emin) || last > largest(c.in))
    refuse(c, "condition " + std::to_string(c.fill_a.condition) + " over " + std::to_string(axis->size) +
                  " terms is out of reach of " + format.name + ": choose one nearer to the number of terms");
  a.stride = axis->a_stride;
  b.stride = axis->b_stride;
  a.size = b.size = axis->size;
  FillParams& signed_side = single ? a : b;
  a.last = 1;
  signed_side.last = last;
  signed_side.negate = 1;
}

bool is_whole(const Fill& f) {
  return f.kind == "integers" || f.kind == "ones" || f.kind == "zeros";
}

double largest_integer(const Fill& f) {
  if (f.kind == "integers") return std::max(std::abs(f.lo), std::abs(f.hi - 1));
  return f.kind == "ones" ? 1 : 0;
}

// Every order and every mode is exact if operands fit 8 significant bits (bf16's; fp16 and TF32 have 11) and
// all sums stay below 2^24: then each partial sum is an integer of fp32, and block steps that keep at least
// 23 fractional bits below the largest term cut nothing off.
void check_exactness(const Case& c, const Contraction& contraction) {
  const bool single = contraction.b_is_ones;
  if (c.fill_a.kind != "integers" && c.fill_b.kind != "integers") return;
  if (!is_whole(c.fill_a) || (!single && !is_whole(c.fill_b)) ||
      (contraction.has_bias && !is_whole(c.fill_bias)))
    refuse(c, "integers prove exactness only together with integers, ones or zeros: fill a, b and bias so");
  const double a = largest_integer(c.fill_a), b = single ? 1 : largest_integer(c.fill_b);
  const double bias = contraction.has_bias ? largest_integer(c.fill_bias) : 0;
  if (std::max({a, b, bias}) > 256)
    refuse(c, "integers beyond 256 do not fit bf16's 8 bits, so modes would differ: choose a smaller range");
  const double sum = a * b * static_cast<double>(contraction.terms()) + bias;
  if (sum >= 0x1p24)
    refuse(c, "sums of these integers may reach " + std::to_string(static_cast<std::int64_t>(sum)) +
                  ", and fp32 is exact below 2^24 = 16777216 only: choose a smaller range or fewer terms");
}

}  // namespace

CaseFills resolve_fills(const Case& c) {
  const Contraction contraction = lower(c.problem);
  check_exactness(c, contraction);
  CaseFills fills;
  auto set = [&](TensorFill& t, const Fill& f, Shape shape, std::uint32_t tensor) {
    t.present = true;
    t.shape = std::move(shape);
    t.dtype = c.in;
    t.params = resolve(c, contraction, f, c.in);
    t.key = {c.seed, tensor};
  };
  set(fills.a, c.fill_a, c.problem.a, 0);
  if (!contraction.b_is_ones) set(fills.b, c.fill_b, c.problem.b, 1);
  if (contraction.has_bias) set(fills.bias, c.fill_bias, bias_shape(c.problem), 2);
  if (contraction.has_bias && c.fill_bias.kind == "condition")
    refuse(c, "a bias has no condition: fill it with zeros");
  if (c.fill_a.kind == "condition" || (!contraction.b_is_ones && c.fill_b.kind == "condition"))
    set_condition(c, contraction, fills.a.params, fills.b.params);
  return fills;
}

}  // namespace ulpscope
