#include "harness/measure.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reference/simd.hpp"

namespace ulpscope {
namespace {

struct Kernels {
  decltype(&simd_base::scan_block) scan_block;
  decltype(&simd_base::detail_block) detail_block;
  decltype(&simd_base::count_bins) count_bins;
  decltype(&simd_base::count_violations) count_violations;
  decltype(&simd_base::count_zero_signs) count_zero_signs;
  decltype(&simd_base::decode_bf16) decode_bf16;
  decltype(&simd_base::decode_fp16) decode_fp16;
};
#define ULPSCOPE_KERNELS_OF(level)                                                      \
  Kernels {                                                                             \
    level::scan_block, level::detail_block, level::count_bins, level::count_violations, \
        level::count_zero_signs, level::decode_bf16, level::decode_fp16                 \
  }
const Kernels& kernels() {
  static const Kernels k =
      simd_level() == SimdLevel::v3 ? ULPSCOPE_KERNELS_OF(simd_v3) : ULPSCOPE_KERNELS_OF(simd_base);
  return k;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Candidates of one block as fp32 values and as bits; fp32 is used in place.
struct Decoded {
  float value[kMeasureBlock];
  std::uint32_t bits[kMeasureBlock];

  void from(DType type, const void* data, std::int64_t at, int n, const float*& values,
            const std::uint32_t*& wide) {
    if (type == DType::f32) {
      values = static_cast<const float*>(data) + at;
      wide = static_cast<const std::uint32_t*>(data) + at;
      return;
    }
    const auto* halves = static_cast<const std::uint16_t*>(data) + at;
    (type == DType::bf16 ? kernels().decode_bf16 : kernels().decode_fp16)(halves, n, value, bits);
    values = value;
    wide = bits;
  }
};

int kind_of(double x) {  // finite, NaN, +inf, -inf
  if (std::isfinite(x)) return 0;
  if (std::isnan(x)) return 1;
  return x > 0 ? 2 : 3;
}

/// The smallest bin that leaves at most (1 - share) of the outputs above it.
double percentile(const std::vector<std::int64_t>& bins, std::int64_t total, std::int64_t per_mille) {
  if (total == 0) return 0;
  // ceil(total * per_mille / 1000), in integers so that it is exact
  const auto wanted = static_cast<std::int64_t>((static_cast<__int128>(total) * per_mille + 999) / 1000);
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < bins.size(); ++i)
    if ((seen += bins[i]) >= wanted) return ulp_bin_upper_edge(static_cast<int>(i));
  return ulp_bin_upper_edge(kUlpBins - 1);
}

}  // namespace

double ulp_bin_upper_edge(int bin) {
  if (bin == 0) return 0;
  if (bin == kUlpBins - 1) return std::numeric_limits<double>::infinity();
  const int step = bin - 1;  // steps of 1/64 octave above 2^kUlpMinExp
  return std::ldexp(1.0 + (step % kUlpPerOctave) / static_cast<double>(kUlpPerOctave),
                    kUlpMinExp + step / kUlpPerOctave);
}

Measurer::Measurer(std::shared_ptr<const StrataMap> map, const MeasureSetup& setup)
    : map_(map), setup_(setup), bins_(kUlpBins), strata_(std::move(map)) {
  if (setup.out == DType::f64)
    throw Error("results in fp64 cannot be measured: the exact reference rounds to fp32, fp16 or bf16");
  const FormatInfo& f = info(setup.out);
  scale_.min_normal = std::ldexp(1.0, f.emin);
  scale_.precision = f.precision;
  scale_.minus_zero = setup.out == DType::f32 ? 0x80000000u : 0x8000u;
  // An infinite coefficient bounds nothing (and infinity times an S of 0 is no number).
  has_bound_ = std::isfinite(setup.bound.per_s) && std::isfinite(setup.bound.absolute);
  if (has_bound_) {
    scale_.per_s = setup.bound.per_s;
    scale_.absolute = setup.bound.absolute;
    scale_.overflow_s = setup.bound.overflow_s;
  }
  if (setup.tolerance) {
    scale_.atol = setup.tolerance->atol;
    scale_.rtol = setup.tolerance->rtol;
  }
  const double limit = setup.magnitude_limit;
  if (limit > 0x1p-800 && limit < 0x1p900) {
    quantum_ = std::ldexp(1.0, std::ilogb(limit) - 60);
    sum_limit_ = quantum_ * 0x1p51;
    scale_.sum_magic = quantum_ * 0x1.8p52;
  }
}

void Measurer::add(std::int64_t begin, std::int64_t count, const void* candidate, const double* value,
                   const double* magnitude, const std::uint32_t* rounded) {
  Decoded decoded;
  for (std::int64_t at = 0, n = 0; at < count; at += n) {
    // Blocks end with planes, so that each has one channel and consecutive positions.
    const std::int64_t plane_left = map_->plane_size() - (begin + at) % map_->plane_size();
    n = std::min({std::int64_t{kMeasureBlock}, count - at, plane_left});
    BlockInput block{};
    block.n = static_cast<int>(n);
    decoded.from(setup_.out, candidate, at, block.n, block.candidate, block.bits);
    block.rounded = rounded ? rounded + at : nullptr;
    block.value = value + at;
    block.magnitude = magnitude + at;
    add_block(begin + at, block);
  }
}

void Measurer::add_block(std::int64_t begin, const BlockInput& block) {
  // Below `threshold` times S an error raises no maximum of the strata, nor the headroom, nor passes the
  // bound.
  const Strata::Thresholds at = strata_.enter(begin, block.n);
  double threshold = at.scaled;
  if (has_bound_)
    threshold = std::min(threshold, threshold_below(scale_.per_s * std::min(counts_.headroom, 1.0)));
  BlockScan scan;
  kernels().scan_block(scale_, block, at.by_position, at.position, threshold, scan);
  counts_.outputs += block.n;
  if (scan.max_ulp_high >= kNotFinite) return add_one_by_one(begin, block);

  counts_.finite_pairs += block.n;
  counts_.equal_bits += scan.equal_bits;
  kernels().count_bins(scan.bin, block.n, bins_.data());
  bins_[1] -= scan.no_error;
  bins_[0] += scan.no_error;
  add_sums(block, scan);
  max_magnitude_ = std::max(max_magnitude_, scan.max_magnitude);
  const auto known_ulp = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(counts_.max_ulp) >> 32);
  if (scan.above_threshold || scan.max_abs > at.error || max_abs_.can_move(scan.max_abs, begin) ||
      (scan.max_ulp_high >= known_ulp && scan.max_abs > 0) ||
      (has_bound_ && scan.max_magnitude >= scale_.overflow_s))
    look_again(begin, block);
  if (setup_.tolerance && !(scan.max_abs <= scale_.atol))
    counts_.violations += kernels().count_violations(scale_, block);
  if (block.rounded && scan.no_error > 0 && scan.equal_bits < block.n)
    counts_.zero_sign_mismatch += kernels().count_zero_signs(scale_, block);
}

void Measurer::add_sums(const BlockInput& block, const BlockScan& scan) {
  if (scan.max_abs == 0) return;
  if (scan.max_abs < sum_limit_) {
    quanta_ += scan.sum;
    abs_quanta_ += scan.sum_abs;
    return;
  }
  // The same rule for every single output, or the sums would depend on how outputs fall into blocks.
  const auto magic = std::bit_cast<std::int64_t>(scale_.sum_magic);
  for (int i = 0; i < block.n; ++i) {
    const double e = static_cast<double>(block.candidate[i]) - block.value[i], size = std::fabs(e);
    if (size < sum_limit_) {
      quanta_ += std::bit_cast<std::int64_t>(e + scale_.sum_magic) - magic;
      abs_quanta_ += std::bit_cast<std::int64_t>(size + scale_.sum_magic) - magic;
    } else {
      sum_.add(e);
      abs_sum_.add(size);
    }
  }
}

// Beyond their bound because a kernel takes subnormal numbers for zero (-ftz=true, atomics).
void Measurer::count_flushed(const BlockInput& block, const BlockDetail& d) {
  for (int i = 0; i < block.n; ++i)
    counts_.flushed_beyond += block.candidate[i] == 0 && std::fabs(block.value[i]) < scale_.min_normal &&
                              block.magnitude[i] < scale_.overflow_s &&
                              d.error[i] > scale_.per_s * block.magnitude[i] + scale_.absolute;
}

// The block may raise a maximum or pass its bound: all that scan_block left out.
void Measurer::look_again(std::int64_t begin, const BlockInput& block) {
  BlockDetail d;
  kernels().detail_block(scale_, block, d);
  counts_.max_ulp = std::max(counts_.max_ulp, d.max_ulp);
  if (has_bound_) {
    counts_.headroom = std::max(counts_.headroom, d.max_headroom);
    counts_.beyond_bound += d.beyond_bound;
    if (d.beyond_bound > 0) count_flushed(block, d);
    counts_.unbounded += d.unbounded;
  }
  strata_.raise(begin, block.n, d.error, d.scaled);
  for (int i = 0; i < block.n; ++i) {
    if (max_abs_.can_move(d.error[i], begin + i)) max_abs_ = {d.error[i], begin + i};
    if (max_scaled_.can_move(d.scaled[i], begin + i)) {
      max_scaled_ = {d.scaled[i], begin + i};
      worst_candidate_ = block.candidate[i];
      worst_value_ = block.value[i];
      worst_magnitude_ = block.magnitude[i];
    }
  }
}

// A block with NaN or infinity in it: its runs of finite pairs as blocks of their own, the rest one by one.
void Measurer::add_one_by_one(std::int64_t begin, const BlockInput& block) {
  counts_.outputs -= block.n;
  strata_.leave(begin, block.n);
  auto finite = [&](int k) { return std::isfinite(block.candidate[k]) && std::isfinite(block.value[k]); };
  for (int i = 0; i < block.n;) {
    if (!finite(i)) {
      ++counts_.outputs;
      add_nonfinite(block, i++);
      continue;
    }
    int end = i;
    while (end < block.n && finite(end)) ++end;
    add_block(begin + i, {block.candidate + i, block.bits + i, block.rounded ? block.rounded + i : nullptr,
                          block.value + i, block.magnitude + i, end - i});
    i = end;
  }
}

// What the candidate should be is the rounded true value: a true value of 1e39 rounds to infinity in fp32.
void Measurer::add_nonfinite(const BlockInput& block, int i) {
  ++counts_.nonfinite;
  const double c = block.candidate[i], r = block.value[i], s = block.magnitude[i];
  const double target = block.rounded ? value_of_bits(setup_.out, block.rounded[i]) : r;
  const bool mismatch = kind_of(c) != kind_of(target);
  counts_.nonfinite_mismatch += mismatch;
  if (block.rounded) counts_.equal_bits += block.bits[i] == block.rounded[i];
  // Where partial sums may overflow nothing is claimed, unless the operands themselves settle the result.
  if (has_bound_) {
    const bool claimed = s < scale_.overflow_s || !std::isfinite(r);
    counts_.unbounded += !claimed;
    counts_.beyond_bound += mismatch && claimed;
    counts_.nan_beyond += mismatch && claimed && std::isnan(c);
  }
  if (setup_.tolerance) counts_.violations += !(std::fabs(c - r) <= scale_.atol + scale_.rtol * std::fabs(r));
}

void Measurer::merge(const Measurer& other) {
  Measurement& m = counts_;
  const Measurement& o = other.counts_;
  m.outputs += o.outputs;
  m.finite_pairs += o.finite_pairs;
  m.nonfinite += o.nonfinite;
  m.nonfinite_mismatch += o.nonfinite_mismatch;
  m.zero_sign_mismatch += o.zero_sign_mismatch;
  m.equal_bits += o.equal_bits;
  m.beyond_bound += o.beyond_bound;
  m.nan_beyond += o.nan_beyond;
  m.flushed_beyond += o.flushed_beyond;
  m.unbounded += o.unbounded;
  m.violations += o.violations;
  m.max_ulp = std::max(m.max_ulp, o.max_ulp);
  m.headroom = std::max(m.headroom, o.headroom);
  max_magnitude_ = std::max(max_magnitude_, other.max_magnitude_);
  auto join = [](Extreme& mine, const Extreme& theirs) {
    const bool moves = theirs.index >= 0 && mine.can_move(theirs.value, theirs.index);
    if (moves) mine = theirs;
    return moves;
  };
  join(max_abs_, other.max_abs_);
  if (join(max_scaled_, other.max_scaled_)) {
    worst_candidate_ = other.worst_candidate_;
    worst_value_ = other.worst_value_;
    worst_magnitude_ = other.worst_magnitude_;
  }
  quanta_ += other.quanta_;
  abs_quanta_ += other.abs_quanta_;
  sum_.add(other.sum_);
  abs_sum_.add(other.abs_sum_);
  for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
  strata_.merge(other.strata_);
}

namespace {
/// Percentiles from the fine bins; the histogram shown is by octave: enough to draw, small enough to keep.
nlohmann::json by_octave(const std::vector<std::int64_t>& bins) {
  nlohmann::json rows = nlohmann::json::array();
  auto row = [&](double upper, std::int64_t n) {
    if (n > 0) rows.push_back({{"up_to", json_number(upper)}, {"outputs", n}});
  };
  row(0, bins[0]);
  row(ulp_bin_upper_edge(1), bins[1]);
  for (int octave = 0; octave < kUlpMaxExp - kUlpMinExp; ++octave) {
    const auto first = bins.begin() + 2 + octave * kUlpPerOctave;
    row(std::ldexp(1.0, kUlpMinExp + octave + 1),
        std::accumulate(first, first + kUlpPerOctave, std::int64_t{0}));
  }
  row(ulp_bin_upper_edge(kUlpBins - 1), bins.back());
  return rows;
}

double mean(const ExactSum& large, __int128 quanta, double quantum, std::int64_t n) {
  ExactSum sum = large;
  for (int part = 0; part < 4; ++part) {  // 40 bits each, exact as doubles
    const auto low = static_cast<std::int64_t>(quanta & ((__int128{1} << 40) - 1));
    sum.add(std::ldexp(static_cast<double>(low), 40 * part) * quantum);
    quanta >>= 40;
    if (part == 3 || quanta == 0 || quanta == -1) {
      sum.add(std::ldexp(static_cast<double>(static_cast<std::int64_t>(quanta)), 40 * (part + 1)) * quantum);
      break;
    }
  }
  return sum.value() / static_cast<double>(n);
}
}  // namespace

Measurement Measurer::result(const Shape& out_shape) const {
  constexpr double kPerU = 0x1p24;
  Measurement m = counts_;
  m.max_abs = max_abs_.value;
  m.max_abs_index = max_abs_.index;
  m.max_scaled = max_scaled_.value * kPerU;
  if (has_bound_) {
    m.bound =
        max_magnitude_ < scale_.overflow_s ? scale_.per_s * max_magnitude_ + scale_.absolute : kInfinity;
  } else {
    m.bound = kInfinity;
    m.unbounded = m.outputs;
  }
  if (m.finite_pairs > 0) {
    m.mean_abs = mean(abs_sum_, abs_quanta_, quantum_, m.finite_pairs);
    m.mean_signed = mean(sum_, quanta_, quantum_, m.finite_pairs);
  }
  m.p50_ulp = percentile(bins_, m.finite_pairs, 500);
  m.p99_ulp = percentile(bins_, m.finite_pairs, 990);
  m.p999_ulp = percentile(bins_, m.finite_pairs, 999);
  m.strata = strata_.to_json();
  m.ulp_histogram = by_octave(bins_);
  if (max_scaled_.index < 0) return m;
  Measurement::Worst& w = m.worst;
  w.index = max_scaled_.index;
  w.coordinates.resize(out_shape.size());
  for (std::int64_t i = static_cast<std::int64_t>(out_shape.size()) - 1, rest = w.index; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(i);
    w.coordinates[axis] = rest % out_shape[axis];
    rest /= out_shape[axis];
  }
  w.candidate = worst_candidate_;
  w.exact = worst_value_;
  w.error = worst_candidate_ - worst_value_;
  w.ulp = w.error /
          (w.exact == 0 ? std::ldexp(scale_.min_normal, 1 - scale_.precision) : ulp_at(setup_.out, w.exact));
  w.magnitude = worst_magnitude_;
  w.condition = w.exact == 0 ? kInfinity : worst_magnitude_ / std::fabs(w.exact);
  w.terms = map_->terms_at(w.index);
  return m;
}

void MeasurerPool::add(std::int64_t begin, std::int64_t count, const void* candidate, const double* value,
                       const double* magnitude, const std::uint32_t* rounded) {
  std::unique_ptr<Measurer> mine;
  {
    std::lock_guard lock(guard_);
    if (!idle_.empty()) {
      mine = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!mine) mine = std::make_unique<Measurer>(empty_);
  mine->add(begin, count, candidate, value, magnitude, rounded);
  std::lock_guard lock(guard_);
  idle_.push_back(std::move(mine));
}

Measurement MeasurerPool::result(const Shape& out_shape) const {
  Measurer total = empty_;
  for (const auto& part : idle_) total.merge(*part);
  return total.result(out_shape);
}

Measurement measure(const Contraction& c, const MeasureSetup& setup, std::int64_t begin, std::int64_t count,
                    const void* candidate, const double* value, const double* magnitude,
                    const std::uint32_t* rounded, int threads) {
  constexpr std::int64_t kChunk = 1 << 16;
  MeasurerPool pool(Measurer(std::make_shared<const StrataMap>(c), setup));
  parallel_for((count + kChunk - 1) / kChunk, threads, [&](std::int64_t i) {
    const std::int64_t from = i * kChunk;
    pool.add(begin + from, std::min(kChunk, count - from),
             static_cast<const char*>(candidate) + from * size_of(setup.out), value + from, magnitude + from,
             rounded ? rounded + from : nullptr);
  });
  return pool.result(c.out_shape);
}

nlohmann::json figures_of(const Measurement& m) {
  return {{"max_abs", json_number(m.max_abs)},
          {"mean_abs", json_number(m.mean_abs)},
          {"mean_signed", json_number(m.mean_signed)},
          {"max_ulp", json_number(m.max_ulp)},
          {"p50_ulp", json_number(m.p50_ulp)},
          {"p99_ulp", json_number(m.p99_ulp)},
          {"p999_ulp", json_number(m.p999_ulp)},
          {"max_scaled", json_number(m.max_scaled)},
          {"headroom", json_number(m.headroom)},
          {"beyond_bound", m.beyond_bound},
          {"nonfinite", m.nonfinite},
          {"nonfinite_mismatch", m.nonfinite_mismatch},
          {"strata", m.strata}};
}

}  // namespace ulpscope
