#pragma once
// Walks the terms of one output, in canonical order, without allocating: for single outputs (tests, probes,
// the undecided ones of an exact sum). Bulk code packs tiles instead (reference/tiles.hpp).
#include <array>
#include <cstdint>
#include <utility>

#include "reference/contraction.hpp"

namespace ulpscope {

inline constexpr std::size_t kMaxAxes = 8;  // out axes, and reduction axes, of any contraction

/// Coordinates of linear output `o` along the out axes, outermost first.
inline std::array<std::int64_t, kMaxAxes> out_coordinates(const Contraction& c, std::int64_t o) {
  std::array<std::int64_t, kMaxAxes> at{};
  for (std::size_t x = c.out.size(); x-- > 0;) {
    at[x] = o % c.out[x].size;
    o /= c.out[x].size;
  }
  return at;
}

/// A reduction axis seen from one output: what a step adds, and which steps exist.
struct AxisWalk {
  std::int64_t size, a_stride, b_stride;
  std::int64_t base, step, divisor, extent, coordinate_stride;  // coordinate = (base + step*r) / divisor

  /// A's offset at step r; false if the tap falls into padding or between the elements of a strided input.
  bool a_offset(std::int64_t r, std::int64_t& offset) const {
    offset = r * a_stride;
    if (extent == 0) return true;  // not coupled
    const std::int64_t scaled = base + step * r;
    if (scaled < 0) return false;
    std::int64_t coordinate = scaled;
    if (divisor != 1) {
      if (scaled % divisor != 0) return false;
      coordinate = scaled / divisor;
    }
    if (coordinate >= extent) return false;
    offset += coordinate * coordinate_stride;
    return true;
  }
};

inline AxisWalk walk_of(const RedAxis& axis, const std::array<std::int64_t, kMaxAxes>& at) {
  const Coupling& k = axis.coupling;
  if (k.out_axis < 0) return {axis.size, axis.a_stride, axis.b_stride, 0, 0, 1, 0, 0};
  return {
      axis.size, axis.a_stride, axis.b_stride, k.o_mul * at[static_cast<std::size_t>(k.out_axis)] + k.offset,
      k.r_mul,   k.divisor,     k.extent,      k.a_stride};
}

/// Calls f(a, b, id) for every existing term of output `o`: linear indices into A and B and the term's
/// canonical number. Terms that fall into padding are left out.
template <class F>
void for_each_term(const Contraction& c, std::int64_t o, F&& f) {
  const auto at = out_coordinates(c, o);
  std::int64_t a0 = c.a_offset, b0 = c.b_offset;
  for (std::size_t x = 0; x < c.out.size(); ++x) {
    a0 += at[x] * c.out[x].a_stride;
    b0 += at[x] * c.out[x].b_stride;
  }
  const std::size_t n = c.red.size();
  if (n == 0) {
    f(a0, b0, std::int64_t{0});
    return;
  }
  std::array<AxisWalk, kMaxAxes> axes;
  for (std::size_t x = 0; x < n; ++x) axes[x] = walk_of(c.red[x], at);
  // Depth-first over the axes: a[d], b[d], id[d] hold the sums over axes before d.
  std::array<std::int64_t, kMaxAxes> r{}, a{}, b{}, id{};
  a[0] = a0;
  b[0] = b0;
  std::size_t d = 0;
  for (;;) {
    if (d + 1 == n) {
      const AxisWalk& w = axes[d];
      for (std::int64_t i = 0; i < w.size; ++i) {
        std::int64_t offset;
        if (w.a_offset(i, offset)) f(a[d] + offset, b[d] + i * w.b_stride, id[d] * w.size + i);
      }
    } else if (r[d] < axes[d].size) {
      std::int64_t offset;
      const std::int64_t i = r[d]++;
      if (!axes[d].a_offset(i, offset)) continue;
      a[d + 1] = a[d] + offset;
      b[d + 1] = b[d] + i * axes[d].b_stride;
      id[d + 1] = id[d] * axes[d].size + i;
      r[++d] = 0;
      continue;
    }
    if (d == 0) return;
    --d;
  }
}

}  // namespace ulpscope
