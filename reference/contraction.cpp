#include "reference/contraction.hpp"

#include "reference/error.hpp"
#include "reference/terms.hpp"

namespace ulpscope {
namespace {

std::int64_t product(std::int64_t x, std::int64_t y, const char* what) {
  std::int64_t z;
  if (__builtin_mul_overflow(x, y, &z))
    throw Error(std::string("the problem has more ") + what +
                " than 63 bits can count: choose a smaller one");
  return z;
}

void check_output(const Contraction& c, std::int64_t o) {
  if (o < 0 || o >= c.outputs())
    throw Error("output " + std::to_string(o) + " is outside the problem's " + std::to_string(c.outputs()) +
                " outputs");
}

// The shape after axis `axis` shrank to `size`: the axis is one dimension of the shape if the elements inside
// it agree; a collapsed or split dimension has no name of its own, so the shape falls back to the axes.
Shape sliced_shape(const Contraction& c, std::size_t axis, std::int64_t size) {
  std::int64_t inside = 1;
  for (std::size_t x = axis + 1; x < c.out.size(); ++x) inside *= c.out[x].size;
  Shape shape = c.out_shape;
  std::int64_t suffix = 1;
  for (std::size_t d = shape.size(); d-- > 0; suffix *= c.out_shape[d])
    if (suffix == inside && shape[d] == c.out[axis].size) {
      shape[d] = size;
      return shape;
    }
  shape.clear();
  for (std::size_t x = 0; x < c.out.size(); ++x) shape.push_back(x == axis ? size : c.out[x].size);
  return shape;
}

}  // namespace

std::int64_t Contraction::outputs() const {
  std::int64_t n = 1;
  for (const OutAxis& axis : out) n = product(n, axis.size, "outputs");
  return n;
}

std::int64_t Contraction::terms() const {
  std::int64_t n = 1;
  for (const RedAxis& axis : red) n = product(n, axis.size, "terms");
  return n;
}

std::vector<Term> terms_of(const Contraction& c, std::int64_t o) {
  check_output(c, o);
  std::vector<Term> terms;
  for_each_term(c, o, [&](std::int64_t a, std::int64_t b, std::int64_t id) { terms.push_back({a, b, id}); });
  return terms;
}

std::int64_t bias_index(const Contraction& c, std::int64_t o) {
  check_output(c, o);
  const auto at = out_coordinates(c, o);
  std::int64_t index = c.bias_offset;
  for (std::size_t x = 0; x < c.out.size(); ++x) index += at[x] * c.out[x].bias_stride;
  return index;
}

Contraction slice(const Contraction& c, int axis, std::int64_t from, std::int64_t to) {
  const auto x = static_cast<std::size_t>(axis);
  if (axis < 0 || x >= c.out.size())
    throw Error("output axis " + std::to_string(axis) + " does not exist: the output has " +
                std::to_string(c.out.size()) + " axes");
  if (from < 0 || from >= to || to > c.out[x].size)
    throw Error("slice " + std::to_string(from) + ":" + std::to_string(to) + " does not fit axis '" +
                c.out[x].name + "' of extent " + std::to_string(c.out[x].size) +
                ": use 0 <= from < to <= extent");
  Contraction s = c;
  s.out_shape = sliced_shape(c, x, to - from);
  OutAxis& o = s.out[x];
  o.size = to - from;
  s.a_offset += from * o.a_stride;
  s.b_offset += from * o.b_stride;
  s.bias_offset += from * o.bias_stride;
  for (RedAxis& r : s.red)
    if (r.coupling.out_axis == axis) r.coupling.offset += from * r.coupling.o_mul;
  return s;
}

}  // namespace ulpscope
