#include "reference/probe/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/arithmetic/scalar.hpp"

namespace ulpscope {
namespace {

Pattern pattern(const ProbeBench& bench, std::initializer_list<std::pair<std::int64_t, float>> values) {
  Pattern p(static_cast<std::size_t>(bench.terms()), 0.0f);
  for (const auto& [k, v] : values) p[static_cast<std::size_t>(k)] = v;
  return p;
}

bool storable(DType dtype, float x) {
  return value_of_bits(dtype, round_to_bits(dtype, static_cast<double>(x))) == static_cast<double>(x);
}

// Ties and near-ties of every format's last place, a number beyond fp16 and fp8, and one below their normal
// range.
std::vector<float> telling_values(DType in) {
  std::vector<float> all{1 + 0x1p-23f,
                         1 + 0x1p-11f,
                         1 + 3 * 0x1p-11f,
                         1 + 0x1p-11f + 0x1p-23f,
                         1 + 0x1p-8f,
                         1 + 3 * 0x1p-8f,
                         1 + 0x1p-8f + 0x1p-16f,
                         1 + 0x1p-4f,
                         1 + 3 * 0x1p-4f,
                         1 + 0x1p-3f,
                         70016.0f,
                         480.0f,
                         0x1p-16f * (1 + 0x1p-10f)};
  std::erase_if(all, [&](float v) { return !storable(in, v); });
  return all;
}

Seen seen_if(bool yes) {
  return yes ? Seen::yes : Seen::no;
}

}  // namespace

void probe_operands(ProbeBench& bench, ProbedArithmetic& seen) {
  const ProbeTarget& t = bench.target();
  const std::vector<float> values = telling_values(t.in);
  const bool two = bench.terms() > 1, second = bench.has_second_operand();
  const std::int64_t other = two ? 1 : 0;
  // Row 0 and column 0 are ones with -1 beside them, so that small differences from 1 survive a short output;
  // column 1 has no -1. Then the values; then subnormal numbers.
  std::vector<Pattern> a{pattern(bench, {{other, 1.0f}, {0, 1.0f}})};
  for (const float v : values) a.push_back(pattern(bench, {{other, 1.0f}, {0, v}}));
  const bool tiny = storable(t.in, 0x1p-100f);
  if (tiny)
    for (const float v : {0x1p-100f, 0x1p-130f}) a.push_back(pattern(bench, {{0, v}}));
  std::vector<Pattern> b{pattern(bench, {{other, -1.0f}, {0, 1.0f}}), pattern(bench, {{0, 1.0f}})};
  if (second) {
    for (const float v : values) b.push_back(pattern(bench, {{other, -1.0f}, {0, v}}));
    for (const float v : values) b.push_back(pattern(bench, {{0, v}}));
    if (tiny)
      for (const float v : {0x1p-40f, 0x1p20f}) b.push_back(pattern(bench, {{0, v}}));
  } else {
    b.assign(1, Pattern(static_cast<std::size_t>(bench.terms()), 1.0f));
    a[0] = pattern(bench, {{0, 1.0f}});
    for (std::size_t i = 0; i < values.size(); ++i) a[1 + i] = pattern(bench, {{0, values[i]}});
  }
  const std::vector<double> results = bench.run(a, b);
  const auto at = [&](std::size_t r, std::size_t c) { return results[r * b.size() + c]; };
  const std::size_t n = values.size();
  const auto fits = [&](bool first, OperandFormat f) {
    for (std::size_t i = 0; i < n; ++i) {
      const double s = static_cast<double>(shorten(f, values[i]));
      const double whole = round_in(t.out, s), rest = round_in(t.out, s - 1);
      const double got_whole = first ? at(1 + i, second ? 1 : 0) : at(0, 2 + n + i);
      const double got_rest = first ? at(1 + i, 0) : at(0, 2 + i);
      if (got_whole != whole && std::isfinite(whole)) return false;
      if (std::isfinite(got_whole) && !std::isfinite(whole)) return false;
      if (two && second && std::isfinite(rest) && std::fabs(s) < 4 && got_rest != rest) return false;
    }
    return true;
  };
  const auto add_fits = [&](bool first, std::vector<OperandFormat>& list) {
    if (t.in == DType::bf16) list = {OperandFormat::bf16};
    if (t.in == DType::f16) list = {OperandFormat::fp16};
    if (t.in != DType::f32) return;
    for (int f = 0; f < kOperandFormats; ++f)
      if (static_cast<OperandFormat>(f) != OperandFormat::fp64 && fits(first, static_cast<OperandFormat>(f)))
        list.push_back(static_cast<OperandFormat>(f));
    std::stable_sort(list.begin(), list.end(),
                     [](auto x, auto y) { return info(x).precision > info(y).precision; });
  };
  add_fits(true, seen.a);
  if (second)
    add_fits(false, seen.b);
  else
    seen.b = seen.a;
  if (tiny && second && t.out != DType::f16) {
    const std::size_t tiny_row = 1 + n, tiny_column = 2 + 2 * n;
    if (t.out == DType::f32) seen.subnormal_results = seen_if(at(tiny_row, tiny_column) == 0x1p-140);
    seen.subnormal_operands = seen_if(at(tiny_row + 1, tiny_column + 1) == 0x1p-110);
  }
}

MaskScale probe_scale(ProbeBench& bench, std::vector<std::string>& notes) {
  const ProbeTarget& t = bench.target();
  const std::int64_t n = bench.terms();
  MaskScale wide;
  MaskScale narrow{0x1p-14f, 0x1p-14f, 0x1p15f, 0x1p15f, 15};  // M = 2, ones of 2^-28: 2^29/2^25 > 15
  if (t.out == DType::f16)
    narrow = {0x1p-12f, 0x1p-12f, 0x1p15f, 0x1p15f, 3};  // ones of 2^-24, fp16's smallest
  if (!bench.has_second_operand()) narrow = {0x1p-12f, 1, 0x1p15f, 1, 3};
  // Does 2^96 - 2^96 vanish? And how many ones add up exactly?
  std::vector<Pattern> a;
  const bool range = storable(t.in, wide.big_a);
  if (range) {
    a.push_back(pattern(bench, {{0, wide.big_a}}));
    if (n > 1) a.push_back(pattern(bench, {{0, wide.big_a}, {n - 1, -wide.big_a}}));
  }
  const std::size_t first = a.size();
  // 2^k - 1 ones need all k bits, so all smaller counts are exact too: a sum of 2^k or of 9 * 2^k proves
  // less.
  const std::int64_t odd = n - (n + 1) % 2;
  std::vector<std::int64_t> counts{n, odd};
  for (std::int64_t m = 3; m < odd; m = 2 * m + 1) counts.push_back(m);
  for (const std::int64_t m : counts) {
    Pattern p(static_cast<std::size_t>(n), 0.0f);
    std::fill_n(p.begin(), m, 1.0f);
    a.push_back(std::move(p));
  }
  const std::vector<Pattern> b{Pattern(static_cast<std::size_t>(n), 1.0f)};
  const std::vector<double> results = bench.run(a, b);
  std::int64_t exact = 0;
  const auto adds_up = [&](std::size_t i) { return results[first + i] == static_cast<double>(counts[i]); };
  for (std::size_t i = 2; i < counts.size() && adds_up(i); ++i) exact = counts[i] + 1;
  if (adds_up(0) && adds_up(1)) exact = n;
  const double all = results[first];
  if (all < static_cast<double>(n) && all == std::floor(all) && exact < n && exact >= n / 2)
    notes.push_back(fmt::format(
        "the sum of {} ones is {}: the last {} terms are missing, or the sum is too short to hold it", n, all,
        static_cast<double>(n) - all));
  const bool kept = range && (results[0] == 0x1p96 || (t.out == DType::f16 && std::isinf(results[0])));
  if (kept && (n == 1 || results[1] == 0)) {
    wide.limit = exact;
    return wide;
  }
  narrow.limit = std::min(narrow.limit, std::max<std::int64_t>(exact, 3));
  return narrow;
}

void probe_sums(ProbeBench& bench, const std::vector<std::int64_t>& chain, int block_terms,
                ProbedArithmetic& seen) {
  const ProbeTarget& t = bench.target();
  const auto n = std::ssize(chain);
  seen.block = block_terms > 1;
  seen.terms = block_terms;
  if (n < 3) return;
  const auto leaf = [&](std::int64_t i) { return chain[static_cast<std::size_t>(i)]; };
  // How far down A reaches, and B beyond it.
  const auto reach = [](const std::vector<OperandFormat>& formats) {
    return formats.empty() ? 60 : std::min(60, -info(formats[0]).emin);
  };
  const int lowest = reach(seen.a),
            beyond = lowest < 60 && bench.has_second_operand() ? reach(seen.b) / lowest : 0;
  // An fp16 result ends at 2^-24, above what a step of 25 fractional bits keeps of 1: everything is larger
  // there.
  const float one = t.out == DType::f16 ? 0x1p8f : 1.0f;
  // Rows: 1, 2^-s, -1 in the order of addition; for blocks within a step, and with -1 in the next step.
  std::vector<Pattern> a;
  for (int s = 1; s <= lowest; ++s)
    a.push_back(pattern(bench, {{leaf(0), one}, {leaf(1), std::ldexp(one, -s)}, {leaf(2), -one}}));
  const std::int64_t next =
      seen.block ? block_terms : 2;  // the first place whose addition follows a rounding
  const bool follows = n > next + 1;
  for (int s = 1; s <= lowest && follows; ++s)
    a.push_back(pattern(bench, {{leaf(0), one}, {leaf(1), std::ldexp(one, -s)}, {leaf(next), -one}}));
  std::vector<Pattern> b{Pattern(static_cast<std::size_t>(bench.terms()), 1.0f)};
  for (int c = 1; c <= beyond; ++c) {
    b.push_back(b[0]);
    b.back()[static_cast<std::size_t>(leaf(1))] = std::ldexp(1.0f, -c * lowest);
  }
  const std::vector<double> widths = bench.run(a, b);
  const auto survivors = [&](int from) {  // the largest s for which 2^-s is still there at the end
    int last = 0;
    for (int s = 1; s <= lowest * static_cast<int>(b.size()); ++s) {
      const auto row = static_cast<std::size_t>(from + (s - 1) % lowest),
                 column = static_cast<std::size_t>((s - 1) / lowest);
      if (widths[row * b.size() + column] == static_cast<double>(std::ldexp(one, -s)))
        last = s;
      else
        break;
    }
    return last;
  };
  const int within = survivors(0), across = follows ? survivors(lowest) : within;
  if (seen.block) {
    seen.frac = within;
    seen.keep = across;
    seen.accumulator = across == 10 ? DType::f16 : across == 7 ? DType::bf16 : DType::f32;
  } else {
    seen.accumulator = within >= 40   ? DType::f64
                       : within >= 20 ? DType::f32
                       : within >= 9  ? DType::f16
                                      : DType::bf16;
    if (within != info(seen.accumulator).precision - 1 && seen.accumulator != DType::f64) seen.keep = within;
  }
  // Which way a half goes: 1 + q + q/2 with q the last place, and then -1. Where A does not reach so far
  // down, B takes a part of it.
  const int kept = seen.block ? across : info(seen.accumulator).precision - 1;
  const auto shared = [&](int s) { return s <= lowest ? 0 : lowest; };  // B's part of 2^-s
  const auto reaches = [&](int s) { return s - shared(s) <= lowest && (shared(s) == 0 || beyond > 0); };
  a.clear();
  const bool halves = n > next + 2 && seen.accumulator != DType::f64 && reaches(kept + 1) &&
                      (!seen.block || kept < seen.frac);
  const std::int64_t minus = seen.block ? next : 3;
  std::vector<Pattern> scale;
  const auto ask = [&](Pattern p, std::int64_t small, int s) {  // places [1, small) are in units of 2^-s
    a.push_back(std::move(p));
    scale.emplace_back(static_cast<std::size_t>(bench.terms()), 1.0f);
    for (std::int64_t i = 1; i < small; ++i)
      scale.back()[static_cast<std::size_t>(leaf(i))] = std::ldexp(1.0f, -shared(s));
  };
  if (halves) {
    const float q = std::ldexp(one, shared(kept + 1) - kept);
    ask(pattern(bench, {{leaf(0), one}, {leaf(1), q}, {leaf(2), q / 2}, {leaf(minus), -one}}), 3, kept + 1);
  }
  const bool compensates = n > 6 && !seen.block && seen.accumulator == DType::f32 && reaches(25);
  if (compensates) {
    Pattern p = pattern(bench, {{leaf(0), one}, {leaf(6), -one}});
    for (std::int64_t i = 1; i < 6; ++i)
      p[static_cast<std::size_t>(leaf(i))] = std::ldexp(one, shared(25) - 25);
    ask(std::move(p), 6, 25);
  }
  if (!a.empty()) {
    if (!bench.has_second_operand()) scale.resize(1);
    const std::vector<double> r = bench.run(a, scale);
    if (halves) seen.truncates = seen_if(r[0] == static_cast<double>(std::ldexp(one, -kept)));
    if (compensates) seen.compensated = seen_if(r.back() != 0);
  }
  // FMA: -(1 + 2^(1-h)) + (1 + 2^-h)^2 leaves 2^-2h only if the product is not rounded first. With a wide
  // accumulator the product is the question: h = 12 is what fp32 cannot hold.
  const int h = seen.accumulator == DType::f16 ? 6 : seen.accumulator == DType::bf16 ? 4 : 12;
  const float y = 1 + std::ldexp(1.0f, -h);
  const bool visible =
      !seen.a.empty() && !seen.b.empty() && shorten(seen.a[0], y) == y && shorten(seen.b[0], y) == y;
  if (!seen.block && bench.has_second_operand() && visible && storable(t.in, y)) {
    const std::vector<Pattern> left{
        pattern(bench, {{leaf(0), -(1 + std::ldexp(1.0f, 1 - h))}, {leaf(1), y}})};
    const std::vector<Pattern> right{pattern(bench, {{leaf(0), 1.0f}, {leaf(1), y}})};
    const double r = bench.run(left, right)[0];
    if (r == std::ldexp(1.0, -2 * h)) seen.fma = Seen::yes;
    if (r == 0) seen.fma = Seen::no;
  }
}

std::vector<bool> second_is_fused(ProbeBench& bench,
                                  const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs,
                                  bool swapped) {
  std::vector<bool> fused(pairs.size());
  if (!bench.has_second_operand() || pairs.empty()) return fused;
  const float y = 1 + 0x1p-12f;
  std::vector<Pattern> a;
  Pattern b(static_cast<std::size_t>(bench.terms()), 1.0f);
  for (auto [first, second] : pairs) {
    if (swapped) std::swap(first, second);
    a.push_back(pattern(bench, {{first, -(1 + 0x1p-11f)}, {second, y}}));
    b[static_cast<std::size_t>(second)] = y;
  }
  const std::vector<double> results = bench.run(a, std::span(&b, 1));
  for (std::size_t i = 0; i < pairs.size(); ++i) fused[i] = results[i] == 0x1p-24;
  return fused;
}

std::vector<Arithmetic> arithmetics_of(const ProbedArithmetic& seen) {
  std::vector<Arithmetic> all;
  Arithmetic a;
  if (seen.block) {
    a.step = Step::block;
    a.block.terms = seen.terms;
    a.block.frac = std::clamp(seen.frac, 1, kMaxFrac);
    a.block.rounding = seen.truncates == Seen::no ? StepRounding::rne : StepRounding::rz;
    a.block.accumulator = a.accumulator = a.product = seen.accumulator;
    if (seen.accumulator == DType::f32 && seen.keep > 0 && seen.keep < 23) a.block.keep = seen.keep;
    return {a};
  }
  a.accumulator = a.product = seen.accumulator;
  if (seen.compensated == Seen::yes) {
    for (const Step step : {Step::kahan, Step::kahan_fma}) {
      a.step = step;
      all.push_back(a);
    }
    return all;
  }
  if (seen.fma != Seen::no) all.push_back(a);
  if (seen.fma != Seen::yes) {
    a.step = Step::mul_add;
    if (seen.accumulator == DType::f64) a.product = DType::f32;
    all.push_back(a);
  }
  return all;
}

}  // namespace ulpscope
