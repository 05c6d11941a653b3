#include "reference/plan/slots.hpp"

#include <algorithm>
#include <numeric>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kMaxSlots = std::int64_t{1} << 31;

// One digit of the nest: which axis it belongs to and how many steps it takes.
struct Digit {
  std::size_t axis;
  std::int64_t extent;  // of what it divides: the axis, or the chunk around it
  std::int64_t steps;
  OrderAxis rule;
};

std::string names(const std::vector<NamedExtent>& axes) {
  std::string text;
  for (const NamedExtent& a : axes) text += (text.empty() ? "" : " ") + a.name;
  return text;
}

std::int64_t multiply(std::int64_t x, std::int64_t y) {
  if (x > kMaxSlots / std::max<std::int64_t>(y, 1))
    throw Error(
        "plan: the order has more than 2^31 places: use smaller chunks, or a smaller slice of the problem");
  return x * y;
}

std::vector<Digit> digits_of(const Order& order, const std::vector<NamedExtent>& axes) {
  std::vector<Digit> digits;
  std::vector<std::int64_t> open(axes.size());  // extent still to be placed; 0: complete
  for (std::size_t i = 0; i < axes.size(); ++i) open[i] = std::max<std::int64_t>(axes[i].size, 1);
  for (const OrderAxis& rule : order.axes) {
    const auto it = std::find_if(axes.begin(), axes.end(), [&](auto& a) { return a.name == rule.name; });
    if (it == axes.end())
      throw Error("plan: the order names axis '" + rule.name + "', but this operator sums over " +
                  names(axes));
    const auto axis = static_cast<std::size_t>(it - axes.begin());
    if (open[axis] == 0)
      throw Error("plan: the order names axis '" + rule.name + "' again after its last step");
    const std::int64_t extent = open[axis];
    const std::int64_t steps = rule.chunk ? (extent + rule.chunk - 1) / rule.chunk : extent;
    digits.push_back({axis, extent, steps, rule});
    open[axis] = rule.chunk;
  }
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (open[i] > 1) {
      const bool chunked =
          std::any_of(order.axes.begin(), order.axes.end(), [&](auto& a) { return a.name == axes[i].name; });
      // The passes go innermost unless the order places them.
      if (!chunked && axes[i].name == "pass")
        digits.push_back({i, open[i], open[i], OrderAxis{"pass"}});
      else
        throw Error("plan: the order leaves out axis '" + axes[i].name + "'" +
                    (chunked ? " within its last chunk: name it once more, without a chunk" : ""));
    }
  return digits;
}

// Where a digit's step begins within what it divides, and how long that step is.
void step_range(const Digit& d, std::int64_t step, std::int64_t& start, std::int64_t& length) {
  if (d.rule.descending) step = d.steps - 1 - step;
  const std::int64_t size = d.rule.chunk ? d.rule.chunk : 1;
  const std::int64_t residue = d.rule.residue_first ? d.extent % size : 0;
  if (residue == 0) {
    start = step * size;
    length = size;
  } else {
    start = step == 0 ? 0 : residue + (step - 1) * size;
    length = step == 0 ? residue : size;
  }
}

// Deterministic everywhere: SplitMix64 and an unbiased-enough multiply-shift (n < 2^31).
std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

void lay_out_nest(const std::vector<Digit>& digits, const std::vector<NamedExtent>& axes,
                  std::vector<std::int64_t>& out) {
  std::vector<std::int64_t> stride(axes.size());
  std::int64_t s = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    stride[i] = s;
    s *= axes[i].size;
  }
  std::vector<std::int64_t> step(digits.size(), 0);
  std::vector<std::int64_t> base(axes.size()), left(axes.size());
  for (;;) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      base[i] = 0;
      left[i] = axes[i].size;  // how much of the innermost range so far is really there
    }
    bool present = true;
    for (std::size_t d = 0; d < digits.size(); ++d) {
      std::int64_t start, length;
      step_range(digits[d], step[d], start, length);
      std::int64_t& rest = left[digits[d].axis];
      rest = std::min(length, rest - start);
      present &= rest > 0;
      base[digits[d].axis] += start;
    }
    std::int64_t slot = -1;
    if (present) {
      slot = 0;
      for (std::size_t i = 0; i < axes.size(); ++i) slot += base[i] * stride[i];
    }
    out.push_back(slot);
    std::size_t d = digits.size();
    while (d > 0 && ++step[d - 1] == digits[d - 1].steps) step[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

std::vector<NamedExtent> reduction_axes(const Contraction& c) {
  std::vector<NamedExtent> axes;
  for (const RedAxis& r : c.red) axes.push_back({r.name, r.size});
  return axes;
}

Slots lay_out(const Order& order, const std::vector<NamedExtent>& reduction, int passes) {
  std::vector<NamedExtent> axes = reduction;
  Slots slots;
  slots.terms = 1;
  for (const NamedExtent& a : axes) slots.terms = multiply(slots.terms, a.size);
  const std::int64_t n = multiply(slots.terms, passes);
  if (passes > 1) axes.push_back({"pass", passes});
  if (n == 0) return slots;
  if (order.kind == OrderKind::nest) {
    const std::vector<Digit> digits = digits_of(order, axes);
    std::int64_t places = 1;
    for (const Digit& d : digits) places = multiply(places, d.steps);
    slots.slot.reserve(static_cast<std::size_t>(places));
    lay_out_nest(digits, axes, slots.slot);
    if (!digits.empty()) {
      slots.outermost_step = places / digits[0].steps;
      slots.outermost_axis = digits[0].rule.name;
    }
  } else {
    slots.slot.resize(static_cast<std::size_t>(n));
    std::iota(slots.slot.begin(), slots.slot.end(), std::int64_t{0});
    if (!axes.empty()) {
      slots.outermost_axis = axes[0].name;
      slots.outermost_step = n / std::max<std::int64_t>(axes[0].size, 1);
    }
    if (order.kind == OrderKind::shuffle) {
      std::uint64_t state = order.seed;
      for (std::size_t i = slots.slot.size(); i > 1; --i)
        std::swap(slots.slot[i - 1],
                  slots.slot[static_cast<std::size_t>((split_mix(state) >> 32) * i >> 32)]);
    }
  }
  if (order.reversed) std::reverse(slots.slot.begin(), slots.slot.end());
  return slots;
}

}  // namespace ulpscope
