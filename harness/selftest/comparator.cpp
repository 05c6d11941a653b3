// Wrong outputs before the production comparator and judge, and wrong comparators before a set of probes.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "harness/selftest/scene.hpp"
#include "harness/selftest/selftest.hpp"

namespace ulpscope::selftest {
namespace {

using Outputs = std::vector<float>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// The smallest step up in bits.
float next_bit(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) ^ 1u);
}

/// "" only for the correctly rounded output, which is what every plant starts from.
std::string judged(const Scene& s, const Outputs& outputs) {
  const Evidence e = evidence_of(s, outputs);
  const Judgement j = judge(e);
  if (j.verdict == Verdict::identical) return "";
  if (!passes(j.verdict)) return std::string(to_string(j.verdict)) + ": " + j.reason;
  return fmt::format("not identical: {} of {} bits agree", e.measured->equal_bits, e.measured->outputs);
}

Plant wrong(const std::string& what, const std::function<void(Outputs&)>& plant) {
  return {"comparator", what, [plant] {
            Outputs outputs = plain_scene().outputs;
            plant(outputs);
            return judged(plain_scene(), outputs);
          }};
}

Plant wrong_on(const std::string& text, const std::string& what, const std::function<void(Outputs&)>& plant) {
  return {"comparator", what, [=] {
            const Scene s(text);
            Outputs outputs = s.outputs;
            plant(outputs);
            return judged(s, outputs);
          }};
}

/// Probes with known answers: the first that the comparator gets wrong, "" if none.
std::string weakness(const Comparator& comparator) {
  const Scene& s = plain_scene();
  const auto n = static_cast<std::int64_t>(s.size());
  const Tolerance tolerance{1e-5, 0};
  const auto with = [&](std::size_t at, float x) {
    Outputs o = s.outputs;
    o[at] = x;
    return comparator(s, o, tolerance);
  };
  const Measurement right = comparator(s, s.outputs, tolerance);
  if (right.outputs != n || right.equal_bits != n || right.violations != 0)
    return "the correctly rounded output is not taken for what it is";
  if (!(right.max_abs > 0)) return "the error is not taken against the true value";
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{2}, s.size() / 2, s.size() - 1}) {
    const std::string where = fmt::format(" at output {}", at);
    for (const float bad : {kNan, kInf}) {
      const Measurement m = with(at, bad);
      if (m.nonfinite != 1 || m.nonfinite_mismatch != 1 || m.violations != 1 || m.equal_bits != n - 1)
        return "NaN or infinity passes" + where;
    }
    if (with(at, next_bit(s.outputs[at])).equal_bits != n - 1) return "one flipped bit passes" + where;
    const Measurement flipped = with(at, -s.outputs[at]);
    if (!(flipped.max_abs >= std::fabs(s.outputs[at])) || flipped.equal_bits != n - 1)
      return "a wrong sign passes" + where;
    if (with(at, s.outputs[at] + 1).violations != 1) return "a violated tolerance passes" + where;
    if (!(with(at, s.outputs[at] + 1).headroom > 1)) return "an error beyond its bound passes" + where;
  }
  Outputs up = s.outputs, down = s.outputs;
  for (float& x : up) x += 0.001f;
  for (float& x : down) x -= 0.001f;
  if (!(comparator(s, up, tolerance).mean_signed > 0) || !(comparator(s, down, tolerance).mean_signed < 0))
    return "a bias loses its sign";
  static const Scene zeros("gemm 3x4 * 4x5 a=zeros b=uniform(0,1) seed=1");
  Outputs negative = zeros.outputs;
  negative.back() = -0.0f;
  const Measurement m = comparator(zeros, negative, tolerance);
  if (m.zero_sign_mismatch != 1 || m.equal_bits != static_cast<std::int64_t>(zeros.size()) - 1)
    return "-0 passes for +0";
  return "";
}

Plant mutant(const std::string& what, const Comparator& comparator) {
  return {"comparator", "a comparator that " + what, [comparator] { return weakness(comparator); }};
}

}  // namespace

std::vector<Plant> comparator_plants() {
  const std::string subnormals = "gemm 6x8 * 8x6 a=subnormal b=ones seed=2";
  const std::string many = "gemm 300x2 * 2x340 a=uniform(0,1) b=uniform(0,1) seed=3";
  std::vector<Plant> plants{
      {"comparator", "correctly rounded outputs", [] { return judged(plain_scene(), plain_scene().outputs); },
       true},
      wrong("NaN for a number", [](Outputs& o) { o[7] = kNan; }),
      wrong("infinity for a number", [](Outputs& o) { o[7] = -kInf; }),
      wrong("one flipped bit", [](Outputs& o) { o[100] = next_bit(o[100]); }),
      wrong("a missing last element", [](Outputs& o) { o.back() = kNan; }),
      wrong("a last element left at zero", [](Outputs& o) { o.back() = 0; }),
      wrong("a tile of zeros",
            [](Outputs& o) {
              for (std::size_t y = 8; y < 16; ++y)
                for (std::size_t x = 8; x < 16; ++x) o[y * 20 + x] = 0;
            }),
      wrong("two outputs swapped", [](Outputs& o) { std::swap(o[3], o[4]); }),
      wrong("everything one place further", [](Outputs& o) { o.insert(o.begin(), o[0]), o.pop_back(); }),
      wrong("one wrong sign", [](Outputs& o) { o[55] = -o[55]; }),
      wrong("the output of another call",
            [](Outputs& o) { o = Scene("gemm 24x40 * 40x20 a=normal(0,1) b=normal(0,1) seed=12").outputs; }),
      wrong_on("gemm 3x4 * 4x5 a=zeros b=uniform(0,1) seed=1", "-0 for +0", [](Outputs& o) { o[2] = -0.0f; }),
      wrong_on(subnormals, "subnormals flushed to zero",
               [](Outputs& o) {
                 for (float& x : o)
                   if (std::fabs(x) < 0x1p-126f) x = 0;
               }),
      wrong_on("gemm 4x8 * 8x4 a=ones b=ones seed=1", "the neighbour across a binade",
               [](Outputs& o) { o[5] = std::nextafter(8.0f, 0.0f); }),
      wrong_on("gemm 2x2 * 2x2 a=wide(100,110) b=wide(100,110) seed=5", "the largest number for infinity",
               [](Outputs& o) {
                 for (float& x : o)
                   if (std::isinf(x)) x = std::copysign(std::numeric_limits<float>::max(), x);
               }),
      wrong_on(many, "one wrong element in 102000", [](Outputs& o) { o[77777] *= 1.001f; }),
      {"comparator", "the comparator itself", [] { return weakness(compare); }, true},
      mutant("skips NaN",
             [](const Scene& s, const Outputs& o, Tolerance t) {
               Outputs seen = o;
               for (std::size_t i = 0; i < o.size(); ++i)
                 if (std::isnan(o[i])) seen[i] = s.outputs[i];
               return compare(s, seen, t);
             }),
      mutant("stops before the last element",
             [](const Scene& s, const Outputs& o, Tolerance t) {
               Outputs seen = o;
               seen.back() = s.outputs.back();
               return compare(s, seen, t);
             }),
      mutant("looks at every other element",
             [](const Scene& s, const Outputs& o, Tolerance t) {
               Outputs seen = s.outputs;
               for (std::size_t i = 0; i < o.size(); i += 2) seen[i] = o[i];
               return compare(s, seen, t);
             }),
      mutant("compares magnitudes",
             [](const Scene& s, const Outputs& o, Tolerance t) {
               Outputs seen = o;
               for (std::size_t i = 0; i < o.size(); ++i) seen[i] = std::copysign(o[i], s.outputs[i]);
               return compare(s, seen, t);
             }),
      mutant("calls -0 and +0 equal",
             [](const Scene& s, const Outputs& o, Tolerance t) {
               Outputs seen = o;
               for (std::size_t i = 0; i < o.size(); ++i)
                 if (o[i] == s.outputs[i]) seen[i] = s.outputs[i];
               return compare(s, seen, t);
             }),
      mutant("ignores the tolerance",
             [](const Scene& s, const Outputs& o, Tolerance) {
               return compare(s, o, {1e30, 0});
             }),
      mutant("measures against the rounded result",
             [](const Scene& s, const Outputs& o, Tolerance t) {
               Scene rounded = s;
               for (std::size_t i = 0; i < s.size(); ++i) rounded.value[i] = s.outputs[i];
               return compare(rounded, o, t);
             }),
      mutant("loses the sign of the mean",
             [](const Scene& s, const Outputs& o, Tolerance t) {
               Measurement m = compare(s, o, t);
               m.mean_signed = std::fabs(m.mean_signed);
               return m;
             }),
      mutant("has a bound a million times too wide",
             [](const Scene& s, const Outputs& o, Tolerance t) {
               Scene wide = s;
               wide.bound.per_s *= 1e6;
               return compare(wide, o, t);
             }),
  };
  return plants;
}

}  // namespace ulpscope::selftest
