// The error bound that follows from a plan: how much operands lose when they are shortened, and how often and
// how coarsely sums are rounded on the way to the result.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "reference/parallel.hpp"
#include "reference/plan.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/plan/program.hpp"

namespace ulpscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double unit_roundoff(DType f) {
  return std::ldexp(1.0, -info(f).precision);
}
double half_smallest(DType f) {
  return std::ldexp(1.0, info(f).emin - info(f).precision);
}
double largest_finite(DType f) {
  return std::ldexp(2.0 - std::ldexp(1.0, 1 - info(f).precision), info(f).emax);
}

// What a look at the values says about shortening and adding them.
struct OperandLook {
  double largest = 0;
  bool changed = false;        // some value is not of the format already
  bool subnormal = false;      // some value lies below the format's normal numbers
  double quantum = kInfinity;  // a power of two that divides every value
  void operator+=(const OperandLook& o) {
    largest = std::max(largest, o.largest);
    changed |= o.changed;
    subnormal |= o.subnormal;
    quantum = std::min(quantum, o.quantum);
  }
};

// The largest power of two that divides x > 0.
double quantum_of(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  constexpr std::uint64_t kSignificand = (std::uint64_t{1} << 52) - 1;
  // Clearing the lowest set bit of the significand subtracts just that power of two.
  return (bits & kSignificand) == 0 ? x : x - std::bit_cast<double>(bits & (bits - 1));
}

OperandLook look_at(const TensorView& tensor, OperandFormat format, int threads) {
  constexpr std::int64_t kRun = 1 << 14;
  const std::int64_t n = tensor.size();
  const double normal = std::ldexp(1.0, info(format).emin);
  OperandLook total;
  std::mutex guard;
  parallel_for((n + kRun - 1) / kRun, threads, [&](std::int64_t run) {
    OperandLook look;
    std::vector<float> x, y;
    const std::int64_t from = run * kRun, to = std::min(n, from + kRun);
    for (std::int64_t i = from; i < to; ++i) {
      const double v = tensor.dtype == DType::f32
                           ? static_cast<double>(static_cast<const float*>(tensor.data)[i])
                           : tensor.at(i);
      if (!std::isfinite(v)) continue;
      look.largest = std::max(look.largest, std::fabs(v));
      look.subnormal |= v != 0 && std::fabs(v) < normal;
      look.changed |= format != OperandFormat::fp64 && static_cast<double>(static_cast<float>(v)) != v;
      if (v != 0) look.quantum = std::min(look.quantum, quantum_of(std::fabs(v)));
      x.push_back(static_cast<float>(v));
    }
    y = x;
    shorten(format, y.data(), y.size());
    look.changed |= x != y;
    std::lock_guard lock(guard);
    total += look;  // maxima and ors: the order does not matter
  });
  return total;
}

// One operand: relative and absolute size of what each part leaves over.
struct Loss {
  double relative = 0, absolute = 0;
  bool overflows = false;
};

Loss loss_of(const OperandLook& look, OperandFormat format, const TensorView& tensor, int parts) {
  const OperandInfo& f = info(format);
  Loss loss;
  loss.overflows = look.largest > f.largest;
  if (!look.changed) return loss;
  loss.relative = f.relative;
  // An fp64 tensor is rounded to fp32 first.
  if (tensor.dtype == DType::f64 && format != OperandFormat::fp64)
    loss.relative += 0x1p-24 * (1 + f.relative);
  if (look.subnormal || parts > 1) loss.absolute = f.absolute + (tensor.dtype == DType::f64 ? 0x1p-150 : 0);
  return loss;
}

// Size of part i relative to |x|, and of what is left after all parts (i == parts).
double part_size(const Loss& loss, int i) {
  return i == 0 ? 1 + loss.relative : std::pow(loss.relative, i);
}

// Effect of shortening on one product a*b, relative to |a||b|: what the passes leave out, and how large they
// are together.
struct PassEffect {
  double lost = 0, size = 0;
};
PassEffect pass_effect(const OperandRule& rule, const Loss& a, const Loss& b) {
  if (rule.passes.empty())
    return {a.relative + b.relative + a.relative * b.relative, (1 + a.relative) * (1 + b.relative)};
  PassEffect effect;
  const int parts = rule.parts();
  for (int i = 0; i <= parts; ++i)
    for (int j = 0; j <= parts; ++j) {
      const auto times = std::count(rule.passes.begin(), rule.passes.end(), Pass{i, j});
      const double size = part_size(a, i) * part_size(b, j);
      effect.size += static_cast<double>(times) * size;
      effect.lost += std::fabs(static_cast<double>(times - 1)) * size;
    }
  return effect;
}

// Sum of unit roundoffs on the worst way through each register.
struct Roundings {
  double growth = 0;          // sum of relative sizes
  double longest = 0;         // number of roundings
  double absolute_terms = 0;  // underflow
};

// `tiles`: the most tiles that one output's terms can lie in.
Roundings roundings_of(const Plan& plan, const Program& p, std::int64_t tiles) {
  const Arithmetic& ar = plan.arithmetic;
  const double u = unit_roundoff(ar.accumulator);
  struct Register {
    double growth = 0, longest = 0;
  };
  std::vector<Register> reg(static_cast<std::size_t>(p.registers));
  double underflow = 0;
  for (const Op& op : p.ops) {
    Register& dst = reg[static_cast<std::size_t>(op.dst)];
    const auto m = static_cast<double>(op.to - op.from);
    switch (op.kind) {
      case OpKind::chain:
        dst = {};
        [[fallthrough]];
      case OpKind::extend:
        if (m == 0) break;
        if (ar.step == Step::block) {
          const BlockStep& b = ar.block;
          // The largest term is not truncated if its bits fit F; then at most L of the L+1 terms are.
          const int product_bits = info(plan.operands.a).precision + info(plan.operands.b).precision - 2;
          const int kept = std::min(b.keep, info(b.accumulator).precision - 1);
          const bool largest_fits = product_bits <= b.frac && kept <= b.frac;
          const double truncated =
              static_cast<double>(b.terms + (largest_fits ? 0 : 1)) * std::ldexp(1.0, -b.frac);
          const double rounded = std::ldexp(1.0, b.rounding == StepRounding::rz ? -kept : -kept - 1);
          const double steps = m / b.terms;
          dst.growth += steps * (truncated + rounded);
          dst.longest += steps;
          underflow +=
              steps * 2 * half_smallest(b.accumulator) +
              steps * static_cast<double>(b.terms + 1) * std::ldexp(1.0, std::max(b.floor, -1000) - b.frac);
        } else if (ar.step == Step::kahan || ar.step == Step::kahan_fma) {
          // Three first-order roundings reach the result: of the compensated term, of t - acc where the term
          // is the larger one, and of the last sum. Second-order ones add up with n (Goldberg 1991, theorem
          // 8): 8 leaves room while n*u is small; beyond that every rounding counts. Products rounded by
          // themselves add one.
          const double compensated = m * u < 0x1p-6 ? 3 * u + 8 * m * u * u : 4 * m * u;
          dst.growth += compensated + (ar.step == Step::kahan ? u : 0);
          dst.longest += 3;
          underflow += 2 * m * half_smallest(ar.accumulator);
        } else {
          const double product = ar.step == Step::mul_add ? unit_roundoff(ar.product) : 0;
          dst.growth += m * u + product;
          dst.longest += m + (product > 0 ? 1 : 0);
          underflow += m * (half_smallest(ar.accumulator) + (product > 0 ? half_smallest(ar.product) : 0));
        }
        break;
      case OpKind::add: {
        const Register& src = reg[static_cast<std::size_t>(op.src)];
        dst.growth = std::max(dst.growth, src.growth) + unit_roundoff(op.format);
        dst.longest = std::max(dst.longest, src.longest) + 1;
        // Partial sums kept in a wider format are rounded on their way into this one.
        if (info(op.format).precision < info(ar.accumulator).precision || plan.levels.size() > 1) {
          dst.growth += unit_roundoff(op.format);
          underflow += 2 * half_smallest(op.format);
        }
        break;
      }
      case OpKind::round:
        dst.growth += unit_roundoff(op.format);
        dst.longest += 1;
        underflow += half_smallest(op.format);
        break;
    }
  }
  if (has_tiles(plan)) {  // the program knows one tile; an output's taps may lie in one each
    const Level& l = plan.levels[0];
    const auto more = static_cast<double>(tiles - 1);
    const DType join = l.in.value_or(ar.accumulator);
    reg[0].growth += more * unit_roundoff(join);
    underflow += more * half_smallest(join);
    for (const auto& f : {l.as, l.kept})
      if (f) {
        reg[0].growth += more * unit_roundoff(*f);
        underflow += more * half_smallest(*f);
      }
    reg[0].longest += more;
  }
  return {reg[0].growth, reg[0].longest, underflow};
}

// Products and bias as multiples of one power of two, and how large their sum can be.
struct Grid {
  double quantum = kInfinity, largest_sum = 0;
  // Whether a format holds every multiple of the quantum up to the largest sum as a normal number.
  bool fits(int precision, int emin) const {
    return largest_sum <= std::ldexp(quantum, precision) && quantum >= std::ldexp(1.0, emin);
  }
  bool fits(DType f) const { return fits(info(f).precision, info(f).emin); }
};

Grid grid_of(const Contraction& c, const Operands& operands, const OperandLook& a, const OperandLook& b,
             double products, int threads) {
  Grid grid{a.quantum * b.quantum, products * a.largest * b.largest};
  if (!(grid.largest_sum > 0)) grid.quantum = kInfinity;
  if (c.has_bias) {
    const OperandLook bias = look_at(operands.bias, OperandFormat::fp64, threads);
    grid.quantum = std::min(grid.quantum, bias.quantum);
    grid.largest_sum += bias.largest;
  }
  return grid;
}

// Whether all partial sums of a plan are exact, whatever its order: small integers, say. Nothing is lost
// where products lie on the grid and every format on the way holds all of it.
bool sums_exactly(const Plan& plan, const Grid& grid) {
  const Arithmetic& a = plan.arithmetic;
  bool exact = grid.fits(a.accumulator) && (a.step != Step::mul_add || grid.fits(a.product));
  if (a.step == Step::block)
    // Nothing below 2^(e - frac) is kept, and 2^e, the largest term's place, is no more than the largest sum.
    exact = exact && grid.fits(a.block.keep + 1, info(a.block.accumulator).emin) &&
            grid.largest_sum < std::ldexp(grid.quantum, a.block.frac + 1) &&
            grid.quantum >= std::ldexp(1.0, a.block.floor - a.block.frac);
  for (const Level& l : plan.levels)
    for (const auto& f : {l.in, l.as, l.kept}) exact = exact && (!f || grid.fits(*f));
  return exact;
}

std::int64_t taps_of(const Contraction& c) {
  std::int64_t taps = 1;
  for (const RedAxis& r : c.red)
    if (r.coupling.out_axis >= 0) taps *= r.size;
  return taps;
}

bool one_format_throughout(const Plan& plan) {
  const Arithmetic& a = plan.arithmetic;
  if (a.step != Step::fma && !(a.step == Step::mul_add && a.product == a.accumulator)) return false;
  return std::all_of(plan.levels.begin(), plan.levels.end(), [&](const Level& l) {
    return !l.as && !l.kept && l.in.value_or(a.accumulator) == a.accumulator;
  });
}

}  // namespace

double PlanBound::at(double s) const {
  return s <= largest_s ? per_s * s + absolute : kInfinity;
}

PlanBound bound_of(const Plan& plan, const Contraction& c, const Operands& operands, int threads) {
  PlanBound bound;
  const Program program = compile(plan, reduction_axes(c));
  const OperandRule& rule = plan.operands;
  const OperandLook look_a = look_at(operands.a, rule.a, threads);
  const OperandLook look_b =
      c.b_is_ones ? OperandLook{1, false, false, 1} : look_at(operands.b, rule.b, threads);
  const Loss loss_a = loss_of(look_a, rule.a, operands.a, rule.parts());
  const Loss loss_b = c.b_is_ones ? Loss{} : loss_of(look_b, rule.b, operands.b, rule.parts());
  if (loss_a.overflows || loss_b.overflows || plan.alpha.value_or(1) != 1 || plan.beta.value_or(1) != 1) {
    bound.per_s = kInfinity;
    bound.formula = loss_a.overflows || loss_b.overflows ? "no finite bound: an operand exceeds its format"
                                                         : "no bound: alpha or beta scale the result";
    return bound;
  }
  const PassEffect effect = pass_effect(rule, loss_a, loss_b);
  const auto n = static_cast<double>(program.terms) * program.passes;

  // Summation, relative to the magnitude of what is summed.
  const Roundings roundings = roundings_of(plan, program, taps_of(c));
  const DType acc = plan.arithmetic.accumulator;
  const DType end = acc == DType::f64 ? DType::f64 : DType::f32;  // of the epilogue
  const bool as_they_are = !look_a.changed && !look_b.changed && !look_a.subnormal && !look_b.subnormal;
  const Grid grid =
      as_they_are ? grid_of(c, operands, look_a, look_b, n * effect.size, threads) : Grid{0, kInfinity};
  const bool exact = sums_exactly(plan, grid) && grid.fits(end);
  const double of_bias = plan.bias == BiasPlace::first ? unit_roundoff(acc) : 2 * unit_roundoff(end);
  const double extra = (c.has_bias && !exact ? of_bias : 0) + (plan.alpha ? 2 * unit_roundoff(end) : 0) +
                       (c.divisor != 1 ? 3 * unit_roundoff(end) : 0);
  const double growth = (exact ? 0 : roundings.growth) + extra;
  double summed = std::expm1(growth);
  std::string rule_text = fmt::format("expm1({:.6g})", growth);
  if (exact) {
    rule_text = "0";
  } else if (one_format_throughout(plan) && n * unit_roundoff(acc) < roundings.growth) {
    summed = n * unit_roundoff(acc) + std::expm1(extra) * (1 + n * unit_roundoff(acc));
    rule_text = fmt::format("{:.0f}*2^-{}", n, info(acc).precision);
  }

  // Absolute parts: subnormal operands, and results below the normal range.
  double absolute =
      n * (loss_a.absolute * look_b.largest * (1 + loss_b.relative) +
           loss_b.absolute * look_a.largest * (1 + loss_a.relative) + loss_a.absolute * loss_b.absolute);
  if (plan.arithmetic.step == Step::block && !exact) {
    // A subnormal operand counts with the exponent emin, so its product may lie below 2^e by as much.
    const auto coarse = [&](bool there, OperandFormat f, double other) {
      return there ? (n + n / plan.arithmetic.block.terms + 1) *
                         std::ldexp(other, info(f).emin - plan.arithmetic.block.frac)
                   : 0.0;
    };
    const bool parts = rule.parts() > 1;
    absolute += coarse(look_a.subnormal || parts, rule.a, look_b.largest) +
                coarse(look_b.subnormal || parts, rule.b, look_a.largest);
  }
  // Only the mean's division may still leave the normal range.
  const double underflow = exact ? (c.divisor != 1 ? 3 * half_smallest(end) : 0) : roundings.absolute_terms;
  absolute = (absolute + underflow) * (1 + summed);

  bound.per_s = effect.lost + effect.size * summed;
  bound.absolute = absolute;
  bound.formula = !exact                  ? fmt::format("{}*S", rule_text)
                  : grid.largest_sum == 0 ? std::string("0*S (every product is zero)")
                                          : fmt::format(
                                                "0*S (sums of multiples of {:g} up to {:g} are exact in "
                                                "any order)",
                                                grid.quantum, grid.largest_sum);
  if (exact && summed > 0) bound.formula += fmt::format(" + {:.4g}*S", summed);
  if (effect.lost > 0)
    bound.formula = fmt::format("({:.4g} + {:.6g}*{})*S", effect.lost, effect.size, rule_text);

  // Output: one more rounding if it is narrower than what came before.
  const bool output_exact = exact && c.divisor == 1 && grid.fits(plan.out);
  const int rounds = output_exact
                         ? 0
                         : (info(plan.out).precision < info(end).precision || acc == DType::f64 ? 1 : 0) +
                               (c.has_bias && plan.bias == BiasPlace::after ? 1 : 0);
  for (int i = 0; i < rounds; ++i) {
    const double u = unit_roundoff(plan.out);
    bound.per_s += u * (1 + bound.per_s);
    bound.absolute = bound.absolute * (1 + u) + half_smallest(plan.out);
    bound.formula += fmt::format(" + 2^-{}*(|s| + that)", info(plan.out).precision);
  }
  if (bound.absolute > 0) bound.formula += fmt::format(" + {:.3g}", bound.absolute);

  // Computed partial sums stay below S*(1 + per_s) + absolute.
  double limit =
      std::min({largest_finite(acc), largest_finite(plan.arithmetic.product), largest_finite(plan.out)});
  for (const Level& l : plan.levels)
    for (const auto& f : {l.in, l.as, l.kept})
      if (f) limit = std::min(limit, largest_finite(*f));
  bound.largest_s =
      std::max(0.0, (limit - bound.absolute) / (effect.size * (1 + bound.per_s)) * (1 - 0x1p-40));
  // Everything above was computed in doubles: a few dozen roundings.
  bound.per_s *= 1 + 0x1p-40;
  bound.absolute *= 1 + 0x1p-40;
  return bound;
}

}  // namespace ulpscope
