#include "harness/run_probe.hpp"

#include <array>
#include <cmath>

#include "harness/capture.hpp"
#include "harness/measure_strata.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {
namespace {

/// An output in the middle, and how many terms it has: an edge may have none.
struct Place {
  std::int64_t output = 0, terms = 0;
};
Place middle_of(const Contraction& c) {
  const StrataMap map(c);
  Place best;
  const std::int64_t outputs = c.outputs(), from = outputs / 2;
  for (std::int64_t o = from; o < std::min(outputs, from + 64); ++o)
    if (const std::int64_t terms = map.terms_at(o); terms > best.terms) best = {o, terms};
  return best;
}

// What becomes of x in a format with `bits` significant ones: nearest, and truncated.
double nearest(double x, int bits) {
  const double unit = std::ldexp(1.0, std::ilogb(x) - bits + 1);
  return std::nearbyint(x / unit) * unit;
}
double truncated(double x, int bits) {
  const double unit = std::ldexp(1.0, std::ilogb(x) - bits + 1);
  return std::trunc(x / unit) * unit;
}

enum class Seen { kept, shortened, neither };

/// What a variant does to operands that are x everywhere, if it is to keep `bits` bits of them. `sum(a, b)`
/// is one output of a launch on constants, `ones` that of ones, `terms` how many it adds.
template <class Sum>
Seen look(Sum&& sum, double ones, std::int64_t terms, double x, int bits, bool b_is_ones) {
  const double seen = sum(x, x);
  const std::array<double, 3> forms{x, nearest(x, bits), truncated(x, bits)};
  double best = 1e-4;  // half the smallest gap between the candidates, about
  Seen result = Seen::neither;
  for (const double a : forms)
    for (const double b : forms) {
      const bool kept = a == x && (b_is_ones || b == x);
      const double off = std::fabs(seen / ones - (b_is_ones ? a : a * b));
      if (off >= best) continue;
      best = off;
      result = kept ? Seen::kept : Seen::shortened;
    }
  // Equal terms are rounded alike in a long sum: its errors add up, and may look like another operand. What
  // shortens x gives the very bits of shortened operands.
  constexpr std::int64_t kShort = 512, kLong = std::int64_t{1} << 20;
  if (terms <= kShort) return result;
  if (terms > kLong) return Seen::neither;  // the sum may no longer grow: other operands, the same bits
  for (const double a : forms)
    for (const double b : forms) {
      if (a == x && (b_is_ones || b == x)) continue;
      if (b_is_ones && b != x) continue;
      if (sum(a, b) == seen) return Seen::shortened;
    }
  return result == Seen::kept ? Seen::kept : Seen::neither;
}

}  // namespace

std::string probe_effective_mode(Executor& executor, const Variant& variant, const LaunchArgs& args) {
  const Contraction& c = *args.contraction;
  const Place place = middle_of(c);
  // A 16-bit result is too coarse to tell what its operands lost.
  if (place.terms == 0 || info(args.out_dtype).precision < info(DType::f32).precision) return "unknown";
  // As many terms as the variant adds, which may be too few: a missing one is no shortened operand.
  const double ones = executor.run_constant(variant, args, 1, 1, {place.output}).at(0);
  if (!(ones > 0) || !std::isfinite(ones)) return "unknown";
  auto sum = [&](double a, double b) {
    return executor.run_constant(variant, args, a, b, {place.output}).at(0);
  };
  // 1 + 2^-11 + 2^-13 needs 14 bits; TF32 and FP16 (11 bits) give 1 + 2^-10 or 1, BF16 (8 bits) gives 1.
  constexpr double kFine = 1 + 0x1p-11 + 0x1p-13;
  switch (look(sum, ones, place.terms, kFine, 11, c.b_is_ones)) {
    case Seen::kept:
      return "fp32";
    case Seen::neither:
      return "unknown";
    case Seen::shortened:
      break;
  }
  constexpr double kCoarse = 1 + 0x1p-9;  // 10 bits: kept by TF32 and FP16
  switch (look(sum, ones, place.terms, kCoarse, 8, c.b_is_ones)) {
    case Seen::shortened:
      return "bf16";
    case Seen::neither:
      return "unknown";
    case Seen::kept:
      break;
  }
  const double large = sum(0x1p17, 1);  // beyond FP16
  return std::isfinite(large) ? "tf32" : "fp16";
}

SumsOfOnes probe_sums_of_ones(Executor& executor, const Variant& variant, const LaunchArgs& args) {
  const Contraction& c = *args.contraction;
  const StrataMap map(c);
  // Partial sums may be kept in the output's format (cuBLAS in 16 bits); fp32 accumulators hold up to 2^24.
  const double most = std::ldexp(1.0, std::min(info(args.out_dtype).precision, 24));
  // A mean divides and rounds: a term more or less must stand out from that.
  const double rounding = c.divisor == 1 ? 0 : 4 / most;
  std::vector<std::int64_t> places;
  constexpr std::int64_t kMost = 256;  // outputs: the ends of every axis and tiles' seams among them
  for (const WindowRange& w : plan_windows(c, args.out_dtype, kMost * size_of(args.out_dtype), 0))
    for (std::int64_t o = w.begin; o < w.begin + w.count; ++o) {
      const auto terms = static_cast<double>(map.terms_at(o));
      if (terms <= most && rounding * terms < 0.25) places.push_back(o);
    }
  SumsOfOnes found;
  if (places.empty()) return found;
  const std::vector<double> seen = executor.run_constant(variant, args, 1, 1, places);
  found.outputs = static_cast<std::int64_t>(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int64_t terms = map.terms_at(places[i]);
    const double sum = seen[i] * c.divisor;
    if (std::fabs(sum - static_cast<double>(terms)) < 0.5) continue;
    if (found.wrong++ > 0) continue;
    found.first_wrong = places[i];
    found.terms = terms;
    found.seen = sum;
  }
  return found;
}

std::string effective_mode_of(const Plan& plan) {
  std::string found = "fp32";
  for (const OperandFormat f : {plan.operands.a, plan.operands.b}) {
    const std::string name = info(f).name;
    if (name.starts_with("tf32") && found == "fp32") found = "tf32";
    if (name.starts_with("fp16") && found != "bf16") found = "fp16";
    if (name.starts_with("bf16")) found = "bf16";
  }
  return found;
}

}  // namespace ulpscope
