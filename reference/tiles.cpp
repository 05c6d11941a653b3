#include "reference/tiles.hpp"

#include <algorithm>

#include "reference/error.hpp"
#include "reference/tiles_detail.hpp"

namespace ulpscope {
namespace {

bool moves_a(const Contraction& c, std::size_t axis) {
  return c.out[axis].a_stride != 0 || std::any_of(c.red.begin(), c.red.end(), [&](const RedAxis& r) {
           return r.coupling.out_axis == static_cast<int>(axis);
         });
}

}  // namespace

std::vector<std::size_t> coupled_axes(const Contraction& c) {
  std::vector<std::size_t> axes;
  for (std::size_t x = 0; x < c.red.size(); ++x)
    if (c.red[x].coupling.out_axis >= 0) axes.push_back(x);
  if (axes.size() > 3) throw Error("a contraction may couple at most 3 reduction axes with output axes");
  return axes;
}

// ---- grid -------------------------------------------------------------------------------------------------
TileGrid::TileGrid(const Contraction& c, std::int64_t begin, std::int64_t count, TileShape shape)
    : c_(c), begin_(begin), shape_(shape) {
  if (begin < 0 || count < 0 || begin > c.outputs() - count)
    throw Error("outputs " + std::to_string(begin) + " to " + std::to_string(begin) + "+" +
                std::to_string(count) + " are not all among the problem's " + std::to_string(c.outputs()));
  if (c.out.size() > kMaxAxes || c.red.size() > kMaxAxes)
    throw Error("a contraction may have at most 8 axes a side");
  std::vector<std::size_t> side[2];
  for (std::size_t x = 0; x < c.out.size(); ++x) {
    if (c.out[x].size == 1) continue;
    const bool a = moves_a(c, x), b = c.out[x].b_stride != 0;
    if (a && b) {
      batch_axes_.push_back(x);
    } else {
      side[b ? 1 : 0].push_back(x);
      lanes_ = b ? Operand::b : Operand::a;  // the innermost axis decides
    }
  }
  lane_axes_ = side[index(lanes_)];
  column_axes_ = side[1 - index(lanes_)];
  if (count > 0) split(0, begin, begin + count, {});
  for (const Box& box : boxes_)
    first_tile_.push_back(first_tile_.back() + box.batches * ((box.lanes + shape.lanes - 1) / shape.lanes) *
                                                   ((box.columns + shape.columns - 1) / shape.columns));
}

// Cuts [lo, hi), linear over axes `axis`.., into boxes: a partial head, whole middles, a partial tail.
void TileGrid::split(std::size_t axis, std::int64_t lo, std::int64_t hi, Box box) {
  if (axis == c_.out.size()) {
    for (const std::size_t x : batch_axes_) box.batches *= box.size[x];
    for (const std::size_t x : lane_axes_) box.lanes *= box.size[x];
    for (const std::size_t x : column_axes_) box.columns *= box.size[x];
    boxes_.push_back(box);
    return;
  }
  std::int64_t inner = 1;
  for (std::size_t x = axis + 1; x < c_.out.size(); ++x) inner *= c_.out[x].size;
  auto at = [&](std::int64_t from, std::int64_t size, std::int64_t inner_lo, std::int64_t inner_hi) {
    Box next = box;
    next.from[axis] = from;
    next.size[axis] = size;
    split(axis + 1, inner_lo, inner_hi, next);
  };
  std::int64_t first = lo / inner, last = hi / inner;  // whole positions are [first, last)
  const std::int64_t head = lo % inner, tail = hi % inner;
  if (first == last) return at(first, 1, head, tail);
  if (head != 0) at(first++, 1, head, inner);
  if (first < last) at(first, last - first, 0, inner);
  if (tail != 0) at(last, 1, 0, tail);
}

Tile TileGrid::tile(std::int64_t i) const {
  Tile tile;
  tile.box = static_cast<std::size_t>(std::upper_bound(first_tile_.begin(), first_tile_.end(), i) -
                                      first_tile_.begin() - 1);
  const Box& box = boxes_[tile.box];
  i -= first_tile_[tile.box];
  const std::int64_t across = (box.lanes + shape_.lanes - 1) / shape_.lanes;
  const std::int64_t down = (box.columns + shape_.columns - 1) / shape_.columns;
  tile.first_lane = i % across * shape_.lanes;
  tile.lanes = std::min(shape_.lanes, box.lanes - tile.first_lane);
  i /= across;
  tile.first_column = i % down * shape_.columns;
  tile.columns = std::min(shape_.columns, box.columns - tile.first_column);
  i /= down;
  for (std::size_t b = batch_axes_.size(); b-- > 0;) {
    const std::size_t x = batch_axes_[b];
    tile.batch[x] = i % box.size[x];
    i /= box.size[x];
  }
  return tile;
}

// ---- terms ------------------------------------------------------------------------------------------------
TermBlock::TermBlock(const Contraction& c) : c_(&c), coupled_(coupled_axes(c)) {}

void TermBlock::push(const std::array<std::int64_t, kMaxAxes>& step) {
  std::int64_t a = 0, b = 0;
  std::size_t n = 0;
  for (std::size_t x = 0; x < c_->red.size(); ++x) {
    const RedAxis& axis = c_->red[x];
    a += step[x] * axis.a_stride;
    b += step[x] * axis.b_stride;
    const Coupling& k = axis.coupling;
    if (k.out_axis < 0) continue;
    const std::int64_t scaled = step[x] * k.r_mul, quotient = -floor_div(-scaled, k.divisor);
    quotient_[n].push_back(quotient);
    residue_[n].push_back(quotient * k.divisor - scaled);
    ++n;
    a += quotient * k.a_stride;
  }
  address_[0].push_back(a);
  address_[1].push_back(b);
}

void TermBlock::assign(std::span<const std::int64_t> ids) {
  for (auto* lists : {&quotient_, &residue_})
    for (auto& list : *lists) list.clear();
  for (auto& list : address_) list.clear();
  for (std::int64_t id : ids) {
    std::array<std::int64_t, kMaxAxes> step{};
    for (std::size_t x = c_->red.size(); x-- > 0;) {
      step[x] = id % c_->red[x].size;
      id /= c_->red[x].size;
    }
    push(step);
  }
}

// Stretches along the innermost axis differ in that axis's contribution alone, so only their first term is
// taken apart in full.
void TermBlock::assign_range(std::int64_t first, std::int64_t count) {
  assign({});
  if (c_->red.empty()) {
    for (; count > 0; --count) push({});
    return;
  }
  const RedAxis& inner = c_->red.back();
  const bool coupled = inner.coupling.out_axis >= 0;
  const auto n = static_cast<std::size_t>(count);
  for (auto& list : address_) list.reserve(n);
  for (std::size_t x = 0; x < coupled_.size(); ++x) {
    quotient_[x].reserve(n);
    residue_[x].reserve(n);
  }
  while (count > 0) {
    std::array<std::int64_t, kMaxAxes> step{};
    std::int64_t id = first;
    for (std::size_t x = c_->red.size(); x-- > 0;) {
      step[x] = id % c_->red[x].size;
      id /= c_->red[x].size;
    }
    const std::int64_t along = std::min(count, inner.size - step[c_->red.size() - 1]);
    push(step);
    if (coupled) {  // few taps: each in full
      for (std::int64_t i = 1; i < along; ++i) {
        ++step[c_->red.size() - 1];
        push(step);
      }
    } else {
      std::int64_t a = address_[0].back(), b = address_[1].back();
      for (std::int64_t i = 1; i < along; ++i) {
        address_[0].push_back(a += inner.a_stride);
        address_[1].push_back(b += inner.b_stride);
      }
      for (std::size_t x = 0; x < coupled_.size(); ++x) {
        quotient_[x].resize(address_[0].size(), quotient_[x].back());
        residue_[x].resize(address_[0].size(), residue_[x].back());
      }
    }
    first += along;
    count -= along;
  }
}

}  // namespace ulpscope
