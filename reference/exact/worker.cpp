#include "reference/exact/worker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/exact/compensated.hpp"

namespace ulpscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::int64_t round_up(std::int64_t n, std::int64_t step) {
  return (n + step - 1) / step * step;
}

double bias_at(const Operands& operands, std::int64_t i) {
  return operands.bias.at(i);
}

}  // namespace

// A sum over a tree of height h (roundings on the longest path) is off by at most ((1+u)^h - 1) S, u = 2^-53;
// S itself is computed by such a tree. (h + 1) u (1 + 2^-20) bounds both for every h < 2^31. The certificate
// adds two roundings of its own, and the bias one: hence + 5.
SumTree sum_tree(const Contraction& c) {
  SumTree tree;
  tree.terms = c.terms();
  tree.segments = std::max<std::int64_t>(1, (tree.terms + kSegmentTerms - 1) / kSegmentTerms);
  const std::int64_t chunk = std::min<std::int64_t>(tree.terms, kChunkTerms);
  const std::int64_t chunks =
      std::min<std::int64_t>((tree.terms + kChunkTerms - 1) / kChunkTerms, kSegmentTerms / kChunkTerms);
  const auto height = static_cast<double>(chunk + chunks + tree.segments);
  tree.error_per_s = (height + 5) * 0x1p-53 * (1 + 0x1p-20);
  tree.inflate = 1 + tree.error_per_s;
  // Compensated: TwoSum loses nothing, so only the additions of its errors round. Within a chunk the errors
  // sum to at most chunk * u * S(chunk), between chunks to chunks * u * S; they pass through at most chunk +
  // 2 chunks additions, each off by u. Twice the square of the longer sum covers both, and second-order
  // terms.
  const double passes =
      static_cast<double>(chunk + 2 * ((tree.terms + kChunkTerms - 1) / kChunkTerms) + 4) * 0x1p-53;
  tree.compensated_error_per_s = 2 * passes * passes;
  return tree;
}

TileShape exact_tile_shape(const SumTree& tree) {
  const std::int64_t packed = std::clamp<std::int64_t>(tree.terms, 1, kChunkTerms);
  std::int64_t lanes = std::clamp<std::int64_t>(32768 / packed / kLaneWidth * kLaneWidth, 128, 512);
  // Sums over several chunks keep whole tiles of accumulators, so those are smaller.
  const std::int64_t columns = tree.terms <= kChunkTerms ? 192 : 96;
  while (tree.segments * lanes * columns * 16 > (std::int64_t{64} << 20) && lanes > kLaneWidth) lanes /= 2;
  return {lanes, columns};
}

ExactWorker::ExactWorker(const TileGrid& grid, const Operands& operands, const ExactOptions& options,
                         const SumTree& tree, const Visit& visit)
    : grid_(grid),
      c_(grid.contraction()),
      operands_(operands),
      options_(options),
      tree_(tree),
      visit_(visit),
      packer_(grid, operands, options.level),
      terms_(c_),
      decider_(c_, operands, options.out) {
  const auto chunk = static_cast<std::size_t>(std::min<std::int64_t>(tree.terms, kChunkTerms));
  const auto lanes = static_cast<std::size_t>(round_up(grid.shape().lanes, kLaneWidth));
  const auto columns = static_cast<std::size_t>(round_up(grid.shape().columns, kColumnWidth));
  lane_panels_.resize(chunk * lanes);
  column_panels_.resize(chunk * columns);
  for (auto* row : {&lane_quantum_, &row_quantum_, &lane_bias_, &value_, &bound_}) row->resize(lanes);
  column_quantum_.resize(columns);
  row_sum_.resize(kColumnWidth * lanes);
  row_magnitude_.resize(kColumnWidth * lanes);
  rounded_.resize(lanes);
  open_.resize(lanes);
  if (tree.terms <= kChunkTerms) terms_.assign_range(0, tree.terms);
}

std::int64_t ExactWorker::padded_lanes(const Tile& tile) {
  return round_up(tile.lanes, kLaneWidth);
}
std::int64_t ExactWorker::padded_outputs(const Tile& tile) {
  return padded_lanes(tile) * round_up(tile.columns, kColumnWidth);
}

void ExactWorker::move_to(const Tile& tile) {
  packer_.move_to(tile);
  lanes_ = tile.lanes;
  lanes_padded_ = padded_lanes(tile);
  columns_ = tile.columns;
  have_quanta_ = have_compensated_ = false;
  const auto bias = packer_.lane_bias();
  lane_bias_varies_ =
      c_.has_bias && std::any_of(bias.begin(), bias.end(), [&](auto b) { return b != bias[0]; });
}

void ExactWorker::pack_chunk(std::int64_t first, std::int64_t count) {
  const bool one_chunk = tree_.terms <= kChunkTerms;
  if (!one_chunk) terms_.assign_range(first, count);
  if (!one_chunk || packed_columns_ != packer_.columns_key()) {
    packer_.pack(Side::columns, terms_, kColumnWidth, column_panels_.data());
    packed_columns_ = packer_.columns_key();
  }
  packer_.pack(Side::lanes, terms_, kLaneWidth, lane_panels_.data());
}

// The packed chunk's sums of kColumnWidth columns from `column` on.
void ExactWorker::sum_rows(std::int64_t column, double* sum, double* magnitude) {
  SumJob job;
  job.terms = terms_.size();
  job.stride = lanes_padded_;
  job.columns = column_panels_.data() + column * job.terms;
  for (std::int64_t l = 0; l < lanes_padded_; l += kLaneWidth) {
    job.lanes = lane_panels_.data() + l * job.terms;
    job.sum = sum + l;
    job.magnitude = magnitude + l;
    options_.level == SimdLevel::v3 ? simd_v3::sum_panels(job) : simd_base::sum_panels(job);
  }
}

void ExactWorker::whole(const Tile& tile) {
  if (tree_.terms > kChunkTerms) {
    std::vector<double> sums(static_cast<std::size_t>(2 * padded_outputs(tile)));
    segment(tile, 0, sums.data(), sums.data() + padded_outputs(tile));
    settle_segments(tile, sums.data(), sums.data() + padded_outputs(tile));
    return;
  }
  move_to(tile);
  pack_chunk(0, tree_.terms);
  for (std::int64_t u = 0; u < columns_; u += kColumnWidth) {
    sum_rows(u, row_sum_.data(), row_magnitude_.data());
    for (std::int64_t j = 0; j < kColumnWidth && u + j < columns_; ++j)
      finish(u + j, row_sum_.data() + j * lanes_padded_, row_magnitude_.data() + j * lanes_padded_);
  }
}

void ExactWorker::segment(const Tile& tile, std::int64_t segment, double* sum, double* magnitude) {
  move_to(tile);
  const std::int64_t outputs = padded_outputs(tile);
  std::fill_n(sum, outputs, -0.0);
  std::fill_n(magnitude, outputs, 0.0);
  const std::int64_t end = std::min(tree_.terms, (segment + 1) * kSegmentTerms);
  for (std::int64_t first = segment * kSegmentTerms; first < end; first += kChunkTerms) {
    pack_chunk(first, std::min<std::int64_t>(kChunkTerms, end - first));
    for (std::int64_t u = 0; u < columns_; u += kColumnWidth) {
      sum_rows(u, row_sum_.data(), row_magnitude_.data());
      double* s = sum + u * lanes_padded_;
      double* m = magnitude + u * lanes_padded_;
      for (std::int64_t i = 0; i < kColumnWidth * lanes_padded_; ++i) {
        s[i] += row_sum_[static_cast<std::size_t>(i)];
        m[i] += row_magnitude_[static_cast<std::size_t>(i)];
      }
    }
  }
}

void ExactWorker::settle_segments(const Tile& tile, double* sums, double* magnitudes) {
  move_to(tile);
  const std::int64_t outputs = padded_outputs(tile);
  for (std::int64_t s = 1; s < tree_.segments; ++s)
    for (std::int64_t i = 0; i < outputs; ++i) {
      sums[i] += sums[s * outputs + i];
      magnitudes[i] += magnitudes[s * outputs + i];
    }
  for (std::int64_t u = 0; u < columns_; ++u)
    finish(u, sums + u * lanes_padded_, magnitudes + u * lanes_padded_);
}

// ---- from sums to results
// -----------------------------------------------------------------------------------
void ExactWorker::row_bias(std::int64_t column) {
  const std::int64_t base = packer_.column_bias()[static_cast<std::size_t>(column)];
  if (!lane_bias_varies_) {
    column_bias_ = bias_at(operands_, base + packer_.lane_bias()[0]);
    return;
  }
  std::fill(lane_bias_.begin(), lane_bias_.end(), 0.0);
  for (std::size_t l = 0; l < static_cast<std::size_t>(lanes_); ++l)
    lane_bias_[l] = bias_at(operands_, base + packer_.lane_bias()[l]);
}

void ExactWorker::run_finish(FinishJob& job) {
  if (c_.divisor != 1) return divide(job);
  options_.level == SimdLevel::v3 ? simd_v3::finish_row(job) : simd_base::finish_row(job);
}

void ExactWorker::finish(std::int64_t column, const double* sum, const double* magnitude) {
  FinishJob job;
  job.n = lanes_;
  job.sum = sum;
  job.magnitude = magnitude;
  job.error_per_s = tree_.error_per_s;
  job.inflate = tree_.inflate;
  job.out = options_.out;
  job.check_zero_sign = packer_.may_miss_taps();
  if (c_.has_bias) {
    job.has_bias = true;
    // Columns that share the lanes' bias (all but the first, where it runs along the lanes) need no new row.
    if (column == 0 || !lane_bias_varies_ ||
        packer_.column_bias()[static_cast<std::size_t>(column)] !=
            packer_.column_bias()[static_cast<std::size_t>(column - 1)])
      row_bias(column);
    job.lane_bias = lane_bias_varies_ ? lane_bias_.data() : nullptr;
    job.column_bias = column_bias_;
  }
  job.value = value_.data();
  job.bound = bound_.data();
  job.rounded = rounded_.data();
  job.open = open_.data();
  if (have_quanta_) row_quanta(job, column);
  run_finish(job);
  // The exactness rule costs a pass over the panels: worth it where it may settle many outputs (ties, zeros).
  if (!have_quanta_ && c_.divisor == 1 && job.open_by_interval * 128 > lanes_) {
    find_quanta();
    row_quanta(job, column);
    run_finish(job);
  }
  tally_.certified += lanes_ - job.open_by_interval;
  tally_.exact_sum += job.open_by_interval - job.still_open;
  if (!have_compensated_ && job.still_open * 16 > lanes_ &&
      std::any_of(bound_.begin(), bound_.begin() + lanes_, [](double m) { return m > 0 && m < kInfinity; }))
    compensate_tile();
  if (job.still_open > 0)
    for (std::int64_t l = 0; l < lanes_; ++l)
      if (open_[static_cast<std::size_t>(l)]) settle_open(column, l);
  emit(column);
}

// A mean: one output as a rule, so the certificate is spelt out. |s/n - fl(s/n)| <= 2^-53 |s/n|, within the
// room that error_per_s leaves.
void ExactWorker::divide(FinishJob& job) {
  job.open_by_interval = job.still_open = 0;
  for (std::int64_t l = 0; l < job.n; ++l) {
    const auto i = static_cast<std::size_t>(l);
    const double error = job.magnitude[l] * job.error_per_s / c_.divisor * (1 + 0x1p-20);
    const double value = job.sum[l] / c_.divisor;
    const std::uint64_t low = round_to_bits(job.out, value - error),
                        high = round_to_bits(job.out, value + error);
    const bool certified = error < kInfinity && low == high && error <= 0x1p-34 * std::fabs(value);
    value_[i] = value;
    bound_[i] = job.magnitude[l] * job.inflate;
    rounded_[i] = static_cast<std::uint32_t>(low);
    open_[i] = !certified;
    job.open_by_interval += !certified;
    job.still_open += !certified;
  }
}

void ExactWorker::find_quanta() {
  std::fill(lane_quantum_.begin(), lane_quantum_.end(), kInfinity);
  std::fill(column_quantum_.begin(), column_quantum_.end(), kInfinity);
  auto lowest = [&](const std::vector<double>& panels, std::int64_t positions, int width,
                    std::vector<double>& quantum) {
    for (std::int64_t p = 0; p < positions; p += width) {
      const QuantumJob job{panels.data() + p * terms_.size(), terms_.size(), width, quantum.data() + p};
      options_.level == SimdLevel::v3 ? simd_v3::lowest_bits(job) : simd_base::lowest_bits(job);
    }
  };
  for (std::int64_t first = 0; first < tree_.terms; first += kChunkTerms) {
    if (tree_.terms > kChunkTerms)
      pack_chunk(first, std::min<std::int64_t>(kChunkTerms, tree_.terms - first));
    lowest(lane_panels_, lanes_, kLaneWidth, lane_quantum_);
    lowest(column_panels_, columns_, kColumnWidth, column_quantum_);
  }
  // S < 2^53 quanta: every partial sum is a multiple of the quantum that fits 53 bits, so no addition
  // rounded. (The computed S is exact below that limit, and cannot fall below it by rounding.)
  for (double& q : lane_quantum_) q *= 0x1p53;
  have_quanta_ = true;
}

void ExactWorker::row_quanta(FinishJob& job, std::int64_t column) {
  job.lane_quantum = lane_quantum_.data();
  job.column_quantum = column_quantum_[static_cast<std::size_t>(column)];
  if (!c_.has_bias) return;
  for (std::size_t l = 0; l < static_cast<std::size_t>(lanes_); ++l) {
    const double bias = bias_of(l);
    int exponent;
    const double digits = std::frexp(bias, &exponent);
    double quantum = kInfinity;
    if (bias != 0 && std::isfinite(bias)) {
      const auto whole = static_cast<std::int64_t>(std::ldexp(digits, 53));
      quantum = std::ldexp(static_cast<double>(whole & -whole), exponent);  // lowest bit * 2^53
    }
    row_quantum_[l] = std::min(lane_quantum_[l] * job.column_quantum, quantum);
  }
  job.lane_quantum = row_quantum_.data();
  job.column_quantum = 1;
}

bool ExactWorker::take(const std::optional<Settled>& settled, std::size_t lane) {
  if (!settled) return false;
  value_[lane] = settled->value;
  rounded_[lane] = static_cast<std::uint32_t>(settled->rounded);
  ++tally_.compensated;
  return true;
}

// Every output of the tile once more, with TwoSum: about four times the plain sum, far less than walking the
// terms of each where many are open (long or ill-conditioned sums).
void ExactWorker::compensate_tile() {
  const std::int64_t rows = round_up(columns_, kColumnWidth);
  tile_head_.assign(static_cast<std::size_t>(rows * lanes_padded_), 0.0);
  tile_error_.assign(tile_head_.size(), 0.0);
  std::vector<double> head(static_cast<std::size_t>(kColumnWidth * lanes_padded_)), error(head.size());
  for (std::int64_t first = 0; first < tree_.terms; first += kChunkTerms) {
    if (tree_.terms > kChunkTerms)
      pack_chunk(first, std::min<std::int64_t>(kChunkTerms, tree_.terms - first));
    for (std::int64_t u = 0; u < rows; u += kColumnWidth) {
      CompensateJob job{
          nullptr, column_panels_.data() + u * terms_.size(), terms_.size(), nullptr, nullptr, lanes_padded_};
      for (std::int64_t l = 0; l < lanes_padded_; l += kLaneWidth) {
        job.lanes = lane_panels_.data() + l * terms_.size();
        job.sum = head.data() + l;
        job.magnitude = error.data() + l;
        options_.level == SimdLevel::v3 ? simd_v3::compensate_panels(job) : simd_base::compensate_panels(job);
      }
      double* total = tile_head_.data() + u * lanes_padded_;
      double* total_error = tile_error_.data() + u * lanes_padded_;
      for (std::size_t i = 0; i < head.size(); ++i) {
        double lost;
        total[i] = two_sum(total[i], head[i], lost);
        total_error[i] += error[i];
        total_error[i] += lost;
      }
    }
  }
  have_compensated_ = true;
}

bool ExactWorker::settle_from_tile(std::int64_t column, std::int64_t lane) {
  const auto l = static_cast<std::size_t>(lane), at = static_cast<std::size_t>(column * lanes_padded_ + lane);
  double head = tile_head_[at], middle = tile_error_[at], lost = 0;
  if (c_.has_bias) {
    head = two_sum(head, bias_of(l), lost);
    middle = two_sum(middle, lost, lost);
  }
  return take(settle(head, middle, lost, tree_.compensated_error_per_s * bound_[l], c_.divisor, options_.out),
              l);
}

bool ExactWorker::settle_from_panels(std::int64_t column, std::int64_t lane) {
  CompensatedSum sum;
  const double* a = lane_panels_.data() + lane / kLaneWidth * kLaneWidth * terms_.size() + lane % kLaneWidth;
  const double* b =
      column_panels_.data() + column / kColumnWidth * kColumnWidth * terms_.size() + column % kColumnWidth;
  for (std::int64_t t = 0; t < terms_.size(); ++t) sum.add(a[t * kLaneWidth] * b[t * kColumnWidth]);
  if (c_.has_bias) sum.add(bias_of(static_cast<std::size_t>(lane)));
  return take(settle(sum, c_.divisor, options_.out), static_cast<std::size_t>(lane));
}

void ExactWorker::settle_open(std::int64_t column, std::int64_t lane) {
  const auto l = static_cast<std::size_t>(lane);
  // Packed operands are finite if S is, and missing taps add nothing but +0, unless all is zero.
  if (bound_[l] < kInfinity && bound_[l] > 0) {
    if (have_compensated_ && settle_from_tile(column, lane)) return;
    if (tree_.terms <= kChunkTerms && settle_from_panels(column, lane)) return;
  }
  const Decision d = decider_.decide(grid_.begin() + packer_.lane_out()[l] +
                                     packer_.column_out()[static_cast<std::size_t>(column)]);
  value_[l] = d.value;
  if (!(bound_[l] < kInfinity)) bound_[l] = d.magnitude;  // 0*inf at a missing tap, or truly infinite
  rounded_[l] = static_cast<std::uint32_t>(d.rounded);
  add_rule(tally_, d.rule);
}

// Hands the row over, cut where its outputs are not consecutive.
void ExactWorker::emit(std::int64_t column) {
  const auto out = packer_.lane_out();
  const std::int64_t base = grid_.begin() + packer_.column_out()[static_cast<std::size_t>(column)];
  const auto n = static_cast<std::size_t>(lanes_);
  for (std::size_t first = 0, last; first < n; first = last) {
    // Lanes ascend, so a stretch is consecutive iff its ends are as far apart as it is long.
    const bool all = out[n - 1] - out[first] == static_cast<std::int64_t>(n - 1 - first);
    last = all ? n : first + 1;
    while (last < n && out[last] == out[last - 1] + 1) ++last;
    visit_({base + out[first], static_cast<std::int64_t>(last - first), value_.data() + first,
            bound_.data() + first, rounded_.data() + first});
  }
}

}  // namespace ulpscope
