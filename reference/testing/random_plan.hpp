#pragma once
// Test support: random plans over given reduction axes, and random operands of many kinds.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "reference/plan/plan_types.hpp"
#include "reference/plan/slots.hpp"
#include "reference/tensor.hpp"

namespace ulpscope::testing {

class RandomPlans {
 public:
  explicit RandomPlans(unsigned seed) : rng(seed) {}

  Plan operator()(const std::vector<NamedExtent>& axes) {
    Plan p;
    arithmetic(p);
    order(p, axes);
    while (p.levels.size() < 3 && one_in(2)) p.levels.push_back(level(axes));
    if (p.arithmetic.step == Step::block && one_in(3)) p.residue = 2 + below(40);
    if (p.arithmetic.step == Step::block && one_in(4)) {
      p.interleave.steps = 2 + static_cast<int>(below(3));
      if (p.arithmetic.block.terms % 2 == 0) p.interleave.run = 1 + below(2);
    }
    if (one_in(6)) p.alpha = std::ldexp(1.0 + below(1024), -9);
    if (one_in(6)) p.beta = 0.3;
    if (!p.alpha && !p.beta && one_in(3)) p.bias = one_in(2) ? BiasPlace::first : BiasPlace::after;
    if (one_in(4)) p.mean = MeanRule::reciprocal;
    if (one_in(4)) p.out = one_in(2) ? DType::bf16 : DType::f16;
    return p;
  }

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(n));
  }
  bool one_in(int n) { return below(n) == 0; }

  std::mt19937_64 rng;

 private:
  void arithmetic(Plan& p) {
    Arithmetic& a = p.arithmetic;
    constexpr OperandFormat kShort[] = {OperandFormat::tf32_rne, OperandFormat::tf32_rna,
                                        OperandFormat::tf32_rz,  OperandFormat::bf16,
                                        OperandFormat::fp16,     OperandFormat::fp8_e4m3};
    if (one_in(3)) {
      a.step = Step::block;
      constexpr int kTerms[] = {4, 8, 16, 5, 32};
      a.block = {kTerms[below(5)], 23 + static_cast<int>(below(3))};
      if (one_in(6)) a.block.rounding = StepRounding::rne;
      if (one_in(6)) a.block.keep = 13;
      if (one_in(8)) a.block.accumulator = DType::f16;
      if (one_in(8)) a.block.floor = -126;
      a.product = a.accumulator = a.block.accumulator;
      p.operands.a = kShort[below(6)];
      p.operands.b = one_in(4) ? kShort[below(6)] : p.operands.a;
    } else {
      a.step = static_cast<Step>(below(4));
      constexpr DType kFormats[] = {DType::f64, DType::f16, DType::bf16};
      if (a.step == Step::fma && one_in(3)) a.product = a.accumulator = kFormats[below(3)];
      if (a.step == Step::mul_add && one_in(3)) {
        a.accumulator = kFormats[below(3)];
        a.product = one_in(2) ? DType::f32 : a.accumulator;
      }
      if (one_in(3)) p.operands.a = p.operands.b = kShort[below(6)];
      if (one_in(8) && a.accumulator == DType::f64 && a.product == DType::f64)
        p.operands.a = p.operands.b = OperandFormat::fp64;
    }
    if (one_in(8) && p.operands.a != OperandFormat::fp64) p.operands.passes = {{1, 0}, {0, 1}, {0, 0}};
  }

  void order(Plan& p, const std::vector<NamedExtent>& axes) {
    if (one_in(4)) return;
    if (one_in(5)) {
      p.order.kind = OrderKind::shuffle;
      p.order.seed = rng() >> 1;
      return;
    }
    p.order.kind = OrderKind::nest;
    std::vector<OrderAxis> outer, inner;
    for (const NamedExtent& a : axes) {
      if (a.size > 2 && one_in(2)) outer.push_back({a.name, 1 + below(a.size), one_in(4), one_in(8)});
      inner.push_back({a.name, 0, false, one_in(6)});
    }
    if (p.operands.pass_count() > 1) (one_in(2) ? outer : inner).push_back({"pass"});
    std::shuffle(outer.begin(), outer.end(), rng);
    std::shuffle(inner.begin(), inner.end(), rng);
    p.order.axes = outer;
    p.order.axes.insert(p.order.axes.end(), inner.begin(), inner.end());
    p.order.reversed = one_in(6);
    if (p.order.axes.empty()) p.order.kind = OrderKind::canonical;
  }

  Level level(const std::vector<NamedExtent>&) {
    Level l;
    l.divide = static_cast<Divide>(below(3));
    l.count = 1 + below(l.divide == Divide::chunks ? 20 : 6);
    if (l.divide == Divide::lanes) {
      l.unit = 1 + below(4);
      if (one_in(4)) l.restart = 1 + below(20);
    }
    if (l.divide == Divide::split) {
      if (one_in(3)) l.unit = 1 + below(16);
      l.balanced = one_in(4);
    }
    l.join = static_cast<Join>(below(5));
    if (one_in(8)) l.in = one_in(2) ? DType::f64 : DType::f32;
    if (one_in(8)) l.as = one_in(2) ? DType::bf16 : DType::f16;
    if (l.join <= Join::reverse && one_in(8)) l.kept = one_in(2) ? DType::bf16 : DType::f16;
    return l;
  }
};

/// Random floats. kind 0: uniform [0,1); 1: normal; 2: wide exponents with zeros; 3: random bit patterns
/// (NaN, infinities, subnormals); 4: small integers; 5: around 2^-126.
inline Tensor random_tensor(Shape shape, unsigned seed, int kind) {
  Tensor t = make_tensor(DType::f32, std::move(shape));
  std::mt19937_64 rng(seed);
  std::normal_distribution<float> normal;
  float* x = t.as<float>();
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const float unit = static_cast<float>(rng() >> 40) * 0x1p-24f;
    switch (kind) {
      case 0:
        x[i] = unit;
        break;
      case 1:
        x[i] = normal(rng);
        break;
      case 2:
        x[i] = rng() % 8 ? std::ldexp(unit - 0.5f, static_cast<int>(rng() % 40) - 20) : 0.0f;
        break;
      case 3: {
        const auto bits = static_cast<std::uint32_t>(rng());
        std::memcpy(&x[i], &bits, 4);
        if (rng() % 16) x[i] = unit;  // mostly finite, or everything would be NaN
        break;
      }
      case 4:
        x[i] = static_cast<float>(static_cast<int>(rng() % 9) - 4);
        break;
      default:
        x[i] = std::ldexp(unit - 0.5f, -static_cast<int>(rng() % 30) - 50);
        break;
    }
  }
  return t;
}

}  // namespace ulpscope::testing
