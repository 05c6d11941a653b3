#include "reference/tiles.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "reference/error.hpp"
#include "reference/tiles_pack.hpp"

namespace ulpscope {
namespace {

std::int64_t floor_div(std::int64_t x, std::int64_t divisor) {
  const std::int64_t q = x / divisor;
  return q - (x % divisor < 0);
}

bool moves_a(const Contraction& c, std::size_t axis) {
  return c.out[axis].a_stride != 0 || std::any_of(c.red.begin(), c.red.end(), [&](const RedAxis& r) {
           return r.coupling.out_axis == static_cast<int>(axis);
         });
}

std::vector<std::size_t> coupled_axes(const Contraction& c) {
  std::vector<std::size_t> axes;
  for (std::size_t x = 0; x < c.red.size(); ++x)
    if (c.red[x].coupling.out_axis >= 0) axes.push_back(x);
  if (axes.size() > 3) throw Error("a contraction may couple at most 3 reduction axes with output axes");
  return axes;
}

std::size_t index(Side side) {
  return static_cast<std::size_t>(side);
}
std::size_t index(Operand operand) {
  return static_cast<std::size_t>(operand);
}

}  // namespace

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

// ---- packer -----------------------------------------------------------------------------------------------
TilePacker::TilePacker(const TileGrid& grid, const Operands& operands, SimdLevel level)
    : grid_(&grid), operands_(operands), level_(level), coupled_(coupled_axes(grid.contraction())) {
  const Contraction& c = grid.contraction();
  auto check = [](const TensorView& view, std::int64_t needed, const char* name) {
    if (!view.data || view.size() < needed)
      throw Error(std::string(name) + " holds " + std::to_string(view.data ? view.size() : 0) +
                  " elements, but the problem needs " + std::to_string(needed));
  };
  check(operands.a, c.a_size, "the first operand");
  if (!c.b_is_ones) check(operands.b, c.b_size, "the second operand");
  if (c.has_bias) check(operands.bias, c.bias_size, "the bias");
}

void TilePacker::move_to(const Tile& tile) {
  place(Side::lanes, tile);
  place(Side::columns, tile);
  const Contraction& c = grid_->contraction();
  std::int64_t batch = 0;
  for (const std::size_t x : grid_->batch_axes_) batch = batch * c.out[x].size + tile.batch[x];
  key_ = {static_cast<std::int64_t>(tile.box), batch, tile.first_column, tile.columns};
  may_miss_ = false;
  for (std::size_t n = 0; n < coupled_.size(); ++n) {
    const RedAxis& axis = c.red[coupled_[n]];
    const Coupling& k = axis.coupling;
    const auto [low, high] = std::minmax_element(quotient_[n].begin(), quotient_[n].end());
    const std::int64_t reach = (axis.size - 1) * k.r_mul;
    if (k.divisor != 1 || *low + std::min<std::int64_t>(reach, 0) < 0 ||
        *high + std::max<std::int64_t>(reach, 0) >= k.extent)
      may_miss_ = true;
  }
}

void TilePacker::place(Side side, const Tile& tile) {
  const Contraction& c = grid_->contraction();
  const TileGrid::Box& box = grid_->boxes_[tile.box];
  const auto& axes = side == Side::lanes ? grid_->lane_axes_ : grid_->column_axes_;
  const std::int64_t first = side == Side::lanes ? tile.first_lane : tile.first_column;
  const auto count = static_cast<std::size_t>(side == Side::lanes ? tile.lanes : tile.columns);
  const Operand operand = grid_->operand(side);
  const bool coupled = operand == Operand::a;
  auto& out = out_[index(side)];
  auto& bias = bias_[index(side)];
  auto& address = address_[index(side)];
  out.resize(count);
  bias.resize(count);
  address.resize(count);
  if (coupled)
    for (std::size_t n = 0; n < coupled_.size(); ++n) {
      quotient_[n].resize(count);
      residue_[n].resize(count);
    }
  std::array<std::int64_t, kMaxAxes> out_stride{};
  std::int64_t inner = 1;
  for (std::size_t x = c.out.size(); x-- > 0; inner *= c.out[x].size) out_stride[x] = inner;

  // Coordinates of the first position; the other side's axes stay at the box's corner.
  std::array<std::int64_t, kMaxAxes> at = box.from;
  for (const std::size_t x : grid_->batch_axes_) at[x] += tile.batch[x];
  std::int64_t rest = first;
  for (std::size_t i = axes.size(); i-- > 0;) {
    at[axes[i]] += rest % box.size[axes[i]];
    rest /= box.size[axes[i]];
  }
  // What both sides share is counted once, with the lanes: batch axes, and the box's corner along fixed axes.
  std::array<bool, kMaxAxes> mine{};
  for (std::size_t x = 0; x < c.out.size(); ++x)
    mine[x] = side == Side::lanes ? std::find(grid_->column_axes_.begin(), grid_->column_axes_.end(), x) ==
                                        grid_->column_axes_.end()
                                  : std::find(axes.begin(), axes.end(), x) != axes.end();
  for (std::size_t l = 0; l < count; ++l) {
    std::int64_t o = side == Side::lanes ? -grid_->begin_ : 0, b = side == Side::lanes ? c.bias_offset : 0;
    std::int64_t where = operand == Operand::a ? c.a_offset : c.b_offset;
    for (std::size_t x = 0; x < c.out.size(); ++x) {
      where += at[x] * (operand == Operand::a ? c.out[x].a_stride : c.out[x].b_stride);
      if (!mine[x]) continue;
      o += at[x] * out_stride[x];
      b += at[x] * c.out[x].bias_stride;
    }
    if (coupled)
      for (std::size_t n = 0; n < coupled_.size(); ++n) {
        const Coupling& k = c.red[coupled_[n]].coupling;
        const std::int64_t scaled = k.o_mul * at[static_cast<std::size_t>(k.out_axis)] + k.offset;
        const std::int64_t quotient = floor_div(scaled, k.divisor);
        quotient_[n][l] = quotient;
        residue_[n][l] = scaled - quotient * k.divisor;
        where += quotient * k.a_stride;
      }
    out[l] = o;
    bias[l] = b;
    address[l] = where;
    for (std::size_t i = axes.size(); i-- > 0;) {  // odometer within the box
      const std::size_t x = axes[i];
      if (++at[x] < box.from[x] + box.size[x]) break;
      at[x] = box.from[x];
    }
  }
  find_runs(side);
}

void TilePacker::find_runs(Side side) {
  const auto& address = address_[index(side)];
  const std::size_t coupled = grid_->operand(side) == Operand::a ? coupled_.size() : 0;
  auto& runs = runs_[index(side)];
  runs.clear();
  for (std::size_t first = 0, last; first < address.size(); first = last) {
    Run run{static_cast<std::int64_t>(first), 1, 1, {}};
    last = first + 1;
    if (last < address.size()) {
      run.address_step = address[last] - address[first];
      for (std::size_t n = 0; n < coupled; ++n)
        run.coordinate_step[n] = quotient_[n][last] - quotient_[n][first];
      const bool forward = std::all_of(run.coordinate_step.begin(), run.coordinate_step.end(),
                                       [](std::int64_t step) { return step >= 0; });
      for (; forward && last < address.size(); ++last) {
        bool even = address[last] - address[last - 1] == run.address_step;
        for (std::size_t n = 0; n < coupled; ++n)
          even = even && residue_[n][last] == residue_[n][first] &&
                 quotient_[n][last] - quotient_[n][last - 1] == run.coordinate_step[n];
        if (!even) break;
      }
      run.length = static_cast<std::int64_t>(last - first);
    }
    runs.push_back(run);
  }
}

template <class T>
void TilePacker::pack(Side side, const TermBlock& terms, int width, T* dst, std::uint8_t* valid) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  const Contraction& c = grid_->contraction();
  const Operand operand = grid_->operand(side);
  const auto& address = address_[index(side)];
  const std::int64_t positions = static_cast<std::int64_t>(address.size());
  const std::int64_t padded = (positions + width - 1) / width * width;
  if (operand == Operand::b && c.b_is_ones) {
    for (std::int64_t l = 0; l < padded; ++l)
      for (std::int64_t t = 0; t < terms.size(); ++t) {
        const std::int64_t at = (l / width * terms.size() + t) * width + l % width;
        dst[at] = l < positions ? T(1) : T(0);
        if (valid) valid[at] = l < positions;
      }
    return;
  }
  const TensorView& view = operand == Operand::a ? operands_.a : operands_.b;
  row_.resize(static_cast<std::size_t>(padded) * (sizeof(double) + 1));
  PackJob job;
  job.source = view.data;
  job.dtype = view.dtype;
  job.positions = positions;
  job.address = address.data();
  job.terms = terms.size();
  job.term_address = terms.address_[index(operand)].data();
  if (operand == Operand::a) {
    job.coupled = static_cast<int>(coupled_.size());
    for (std::size_t n = 0; n < coupled_.size(); ++n) {
      const Coupling& k = c.red[coupled_[n]].coupling;
      job.quotient[n] = quotient_[n].data();
      job.residue[n] = residue_[n].data();
      job.term_quotient[n] = terms.quotient_[n].data();
      job.term_residue[n] = terms.residue_[n].data();
      job.extent[n] = k.extent;
    }
  }
  static_assert(sizeof(Run) == kRunFields * sizeof(std::int64_t));
  job.runs = static_cast<std::int64_t>(runs_[index(side)].size());
  job.run = &runs_[index(side)].data()->first;
  job.width = width;
  job.destination = dst;
  job.valid = valid;
  job.row = row_.data();
  if constexpr (std::is_same_v<T, float>)
    level_ == SimdLevel::v3 ? simd_v3::pack_float(job) : simd_base::pack_float(job);
  else
    level_ == SimdLevel::v3 ? simd_v3::pack_double(job) : simd_base::pack_double(job);
}

template void TilePacker::pack<float>(Side, const TermBlock&, int, float*, std::uint8_t*);
template void TilePacker::pack<double>(Side, const TermBlock&, int, double*, std::uint8_t*);

}  // namespace ulpscope
