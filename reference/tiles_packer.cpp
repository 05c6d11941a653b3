// TilePacker: a tile's positions as addresses and coordinates, and the packing jobs made from them.
#include <algorithm>
#include <type_traits>

#include "reference/error.hpp"
#include "reference/tiles.hpp"
#include "reference/tiles_detail.hpp"
#include "reference/tiles_pack.hpp"

namespace ulpscope {

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
  const std::size_t innermost = axes.empty() ? 0 : axes.back();
  for (std::size_t l = 0; l < count;) {
    std::int64_t o = side == Side::lanes ? -grid_->begin_ : 0, b = side == Side::lanes ? c.bias_offset : 0;
    std::int64_t where = operand == Operand::a ? c.a_offset : c.b_offset;
    for (std::size_t x = 0; x < c.out.size(); ++x) {
      where += at[x] * (operand == Operand::a ? c.out[x].a_stride : c.out[x].b_stride);
      if (!mine[x]) continue;
      o += at[x] * out_stride[x];
      b += at[x] * c.out[x].bias_stride;
    }
    // From here to the end of the innermost axis, only that axis's contributions change.
    std::size_t along = 1;
    OutAxis step;
    std::int64_t out_step = 0;
    if (!axes.empty()) {
      along = std::min(count - l,
                       static_cast<std::size_t>(box.from[innermost] + box.size[innermost] - at[innermost]));
      step = c.out[innermost];
      out_step = out_stride[innermost];
    }
    const std::int64_t address_step = operand == Operand::a ? step.a_stride : step.b_stride;
    for (std::size_t i = 0; i < along; ++i) {
      const auto n = static_cast<std::int64_t>(i);
      out[l + i] = o + n * out_step;
      bias[l + i] = b + n * step.bias_stride;
      address[l + i] = where + n * address_step;
    }
    for (std::size_t n = 0; coupled && n < coupled_.size(); ++n) {
      const Coupling& k = c.red[coupled_[n]].coupling;
      const auto moving = static_cast<std::size_t>(k.out_axis);
      std::int64_t scaled = k.o_mul * at[moving] + k.offset;
      const std::int64_t stride = !axes.empty() && moving == innermost ? k.o_mul : 0;
      for (std::size_t i = 0; i < along; ++i, scaled += stride) {
        const std::int64_t quotient = k.divisor == 1 ? scaled : floor_div(scaled, k.divisor);
        quotient_[n][l + i] = quotient;
        residue_[n][l + i] = scaled - quotient * k.divisor;
        address[l + i] += quotient * k.a_stride;
      }
    }
    l += along;
    if (axes.empty()) continue;
    at[innermost] = box.from[innermost];
    for (std::size_t i = axes.size() - 1; i-- > 0;) {  // odometer within the box
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
      if (std::any_of(run.coordinate_step.begin(), run.coordinate_step.end(),
                      [](std::int64_t step) { return step < 0; })) {
        // The row ends here (a tile may begin with a row's last position): alone, it steps nowhere.
        run.address_step = 1;
        run.coordinate_step = {};
        runs.push_back(run);
        continue;
      }
      for (; last < address.size(); ++last) {
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
