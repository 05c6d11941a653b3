// Wrong replays before sums written out here by hand.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "harness/selftest/scene.hpp"
#include "harness/selftest/selftest.hpp"
#include "reference/plan.hpp"

namespace ulpscope::selftest {
namespace {

using Bits = std::vector<std::uint32_t>;
using Replay = std::function<Bits(const std::string& plan, const Scene&)>;

Bits production(const std::string& plan, const Scene& s) {
  Bits bits(s.size());
  replay(*parse_plan(plan), s.c, s.inputs.operands(), 0, s.c.outputs(), bits.data(), 1);
  return bits;
}

float rna(float x) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000) & ~0x1fffu);
}
float rz(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~0x1fffu);
}

/// Every output of a gemm, its terms handed to `sum(a, b, K)` with their operands.
template <class Sum>
Bits by_hand(const Scene& s, Sum sum) {
  const std::int64_t m = s.inputs.a.shape[0], k = s.inputs.a.shape[1], n = s.inputs.b.shape[1];
  Bits bits;
  std::vector<float> a(static_cast<std::size_t>(k)), b(a);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t x = 0; x < k; ++x) {
        a[static_cast<std::size_t>(x)] = s.inputs.a.as<float>()[i * k + x];
        b[static_cast<std::size_t>(x)] = s.inputs.b.as<float>()[x * n + j];
      }
      bits.push_back(std::bit_cast<std::uint32_t>(sum(a, b)));
    }
  return bits;
}

using Terms = std::vector<float>;
float chain(const Terms& a, const Terms& b, std::size_t from, std::size_t to) {
  float acc = 0;
  for (std::size_t x = from; x < to; ++x) acc = std::fma(a[x], b[x], acc);
  return acc;
}

std::string weakness(const Replay& given) {
  const Scene& s = plain_scene();
  if (given("fp32 | fma", s) !=
      by_hand(s, [](const Terms& a, const Terms& b) { return chain(a, b, 0, a.size()); }))
    return "a chain of FMAs comes out otherwise";
  if (given("fp32 | mul_add", s) != by_hand(s, [](const Terms& a, const Terms& b) {
        float acc = 0;
        for (std::size_t x = 0; x < a.size(); ++x) {
          volatile float product = a[x] * b[x];
          acc = acc + product;
        }
        return acc;
      }))
    return "rounded products come out otherwise";
  if (given("fp32 | fma | order -k", s) != by_hand(s, [](const Terms& a, const Terms& b) {
        return chain({a.rbegin(), a.rend()}, {b.rbegin(), b.rend()}, 0, a.size());
      }))
    return "a descending chain comes out otherwise";
  if (given("fp32 | fma | split 2", s) != by_hand(s, [](const Terms& a, const Terms& b) {
        return chain(a, b, 0, a.size() / 2) + chain(a, b, a.size() / 2, a.size());
      }))
    return "two partial sums come out otherwise";
  static const Scene ties = [] {
    Scene x("gemm 6x12 * 12x5 a=normal(0,1) b=normal(0,1) seed=2");
    for (Tensor* t : {&x.inputs.a, &x.inputs.b})
      for (std::int64_t i = 0; i < t->size(); ++i)
        t->as<std::uint32_t>()[i] = (t->as<std::uint32_t>()[i] & ~0x1fffu) | 0x1000;
    return x;
  }();
  if (given("tf32_rna | fma", ties) != by_hand(ties, [](Terms a, Terms b) {
        for (std::size_t x = 0; x < a.size(); ++x) a[x] = rna(a[x]), b[x] = rna(b[x]);
        return chain(a, b, 0, a.size());
      }))
    return "TF32 rounded away from ties comes out otherwise";
  if (given("tf32_rz | fma", s) != by_hand(s, [](Terms a, Terms b) {
        for (std::size_t x = 0; x < a.size(); ++x) a[x] = rz(a[x]), b[x] = rz(b[x]);
        return chain(a, b, 0, a.size());
      }))
    return "truncated TF32 comes out otherwise";
  // 1 and five times 2^-25: a step of eight keeps 5/4 of 2^-23, one of four loses 3/4 and then 2/4; with 24
  // fractional bits all five are cut off before they are added.
  static const Scene step = [] {
    Scene x("gemm 1x8 * 8x1 a=ones b=ones seed=1");
    for (int i = 1; i < 8; ++i) x.inputs.a.as<float>()[i] = i < 6 ? 0x1p-25f : 0;
    return x;
  }();
  if (given("tf32_rna | block 8 frac 25 rz", step) != Bits{std::bit_cast<std::uint32_t>(1 + 0x1p-23f)})
    return "a tensor-core step comes out otherwise";
  return "";
}

/// One that takes a word of the plan for another.
Plant misread(const std::string& what, const std::string& from, const std::string& to) {
  return {"replay", "a replay that " + what, [from, to] {
            return weakness([from, to](std::string plan, const Scene& s) {
              if (const std::size_t at = plan.find(from); at != std::string::npos)
                plan.replace(at, from.size(), to);
              return production(plan, s);
            });
          }};
}

Plant returning(const std::string& what, const std::function<void(Bits&)>& change) {
  return {"replay", "a replay that " + what, [change] {
            return weakness([change](const std::string& plan, const Scene& s) {
              Bits bits = production(plan, s);
              change(bits);
              return bits;
            });
          }};
}

}  // namespace

std::vector<Plant> replay_plants() {
  return {
      {"replay", "the replay itself", [] { return weakness(production); }, true},
      misread("rounds products", "fp32 | fma", "fp32 | mul_add"),
      misread("fuses rounded products", "mul_add", "fma"),
      misread("ignores the order", " | order -k", ""),
      misread("ignores partial sums", " | split 2", ""),
      misread("cuts at another place", "split 2", "split 4"),
      misread("rounds TF32 ties to even", "tf32_rna | fma", "tf32_rne | fma"),
      misread("truncates instead of rounding", "tf32_rna | fma", "tf32_rz | fma"),
      misread("does not shorten operands", "tf32_rz", "fp32"),
      misread("has tensor-core steps of four", "block 8", "block 4"),
      misread("keeps a bit less in a step", "frac 25", "frac 24"),
      returning("repeats the first output", [](Bits& b) { b.assign(b.size(), b[0]); }),
      returning("swaps two outputs",
                [](Bits& b) {
                  if (b.size() > 5) std::swap(b[4], b[5]);
                }),
  };
}

}  // namespace ulpscope::selftest
