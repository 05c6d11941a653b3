#pragma once
// Running sums: the arithmetic of one output, written once for the device, for tile kernels and for CPU
// tests.
//
// A kernel calls operand() on every value it stages, add(x, w, k) for the terms in its order and close(k)
// after every place, empty or not (k: the place's number, or that modulo a multiple of `period`), then
// result() or with_bias(). Where `zero_is_neutral`, adding (-0)*(+0) changes nothing, so tiles may be padded
// with such terms; otherwise empty places must be left out.
#include "kernels/support/tf32.hpp"

namespace ulpscope {

struct SumBase {
  static constexpr bool zero_is_neutral = true;
  static constexpr int period = 1;
  static ULPSCOPE_HD float operand(float v) { return v; }
  ULPSCOPE_HD void close(int) {}
};

/// One fp32 FMA chain from 0. One rounding a term.
struct FmaChain : SumBase {
  float sum = 0;
  ULPSCOPE_HD void add(float x, float w, int) { sum = fma_rn(x, w, sum); }
  ULPSCOPE_HD float result() const { return sum; }
  ULPSCOPE_HD float with_bias(float bias) const { return add_rn(result(), bias); }
};

/// The same chain on operands rounded to TF32.
template <Tf32Rounding R>
struct Tf32FmaChain : FmaChain {
  static ULPSCOPE_HD float operand(float v) { return to_tf32<R>(v); }
};

/// Products rounded to fp32, added in double, rounded once at the end: the sum is all but exact, the products
/// are not.
struct FloatProductDoubleSum : SumBase {
  double sum = 0;
  ULPSCOPE_HD void add(float x, float w, int) { sum = add_rn(sum, static_cast<double>(mul_rn(x, w))); }
  ULPSCOPE_HD float result() const { return static_cast<float>(sum); }
  ULPSCOPE_HD float with_bias(float bias) const {
    return static_cast<float>(add_rn(sum, static_cast<double>(bias)));
  }
};

/// Double throughout: products of two floats are exact in double.
struct DoubleChain : SumBase {
  double sum = 0;
  ULPSCOPE_HD void add(float x, float w, int) {
    sum = fma_rn(static_cast<double>(x), static_cast<double>(w), sum);
  }
  ULPSCOPE_HD float result() const { return static_cast<float>(sum); }
  ULPSCOPE_HD float with_bias(float bias) const {
    return static_cast<float>(add_rn(sum, static_cast<double>(bias)));
  }
};

/// `Lanes` FMA chains, term k in chain k mod Lanes, chains added in order.
template <int Lanes>
struct StridedChains : SumBase {
  static constexpr int period = Lanes;
  float part[Lanes] = {};
  ULPSCOPE_HD void add(float x, float w, int k) { part[k % Lanes] = fma_rn(x, w, part[k % Lanes]); }
  ULPSCOPE_HD float result() const {
    float sum = part[0];
    for (int i = 1; i < Lanes; ++i) sum = add_rn(sum, part[i]);
    return sum;
  }
  ULPSCOPE_HD float with_bias(float bias) const { return add_rn(result(), bias); }
};

/// `Lanes` FMA chains, term k in chain k mod Lanes, joined by halving: p[i] + p[i + Lanes/2], again and
/// again, as shuffles from Lanes/2 down to 1 do in a warp.
template <int Lanes>
struct LaneTree : StridedChains<Lanes> {
  ULPSCOPE_HD float result() const {
    float p[Lanes];
    for (int i = 0; i < Lanes; ++i) p[i] = this->part[i];
    for (int half = Lanes / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) p[i] = add_rn(p[i], p[i + half]);
    return p[0];
  }
  ULPSCOPE_HD float with_bias(float bias) const { return add_rn(result(), bias); }
};

/// A fresh FMA chain for every `Chunk` terms; chunk sums added in order.
template <int Chunk>
struct ChunkedChains : SumBase {
  static constexpr int period = Chunk;
  float total = 0, chunk = 0;
  bool started = false, open = false;  // a chunk has been closed; the current one has terms
  ULPSCOPE_HD void add(float x, float w, int) {
    chunk = fma_rn(x, w, chunk);
    open = true;
  }
  ULPSCOPE_HD void close(int k) {
    if (k % Chunk != Chunk - 1 || !open) return;
    total = result();  // 0 + chunk would lose the sign of a first sum that is -0
    chunk = 0;
    started = true;
    open = false;
  }
  ULPSCOPE_HD float result() const { return !open ? total : started ? add_rn(total, chunk) : chunk; }
  ULPSCOPE_HD float with_bias(float bias) const { return add_rn(result(), bias); }
};

/// Kahan's compensated sum; the product enters it through one FMA with the compensation. Adding a zero still
/// applies the compensation, so zeros are not neutral.
struct Kahan : SumBase {
  static constexpr bool zero_is_neutral = false;
  float sum = 0, compensation = 0;
  ULPSCOPE_HD void add(float x, float w, int) {
    const float y = fma_rn(x, w, -compensation);
    const float t = add_rn(sum, y);
    compensation = sub_rn(sub_rn(t, sum), y);
    sum = t;
  }
  ULPSCOPE_HD float result() const { return sum; }
  ULPSCOPE_HD float with_bias(float bias) const { return add_rn(sum, bias); }
};

}  // namespace ulpscope
