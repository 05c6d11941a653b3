#include "reference/replay/tile_replay.hpp"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "reference/arithmetic/scalar.hpp"
#include "reference/simd.hpp"

namespace ulpscope {
namespace {

constexpr std::size_t kBlock = static_cast<std::size_t>(kLanes) * kColumns;

const ReplayKernels& kernels_for(SimdLevel level) {
  return level == SimdLevel::v3 ? simd_v3::replay_kernels() : simd_base::replay_kernels();
}

// The block loop's conversions truncate because the rounding mode says so. The loop lies behind a function
// pointer, so the compiler cannot move its arithmetic out of this object's life.
class TowardZero {
 public:
  TowardZero() : before_(std::fegetround()) { std::fesetround(FE_TOWARDZERO); }
  ~TowardZero() { std::fesetround(before_); }
  TowardZero(const TowardZero&) = delete;
  TowardZero& operator=(const TowardZero&) = delete;

 private:
  int before_;
};

float exact_step(const void* context, const float* a, const float* b, float acc) {
  const Plan& plan = *static_cast<const Plan*>(context);
  return block_step(plan.arithmetic.block, plan.operands.a, plan.operands.b, a, b,
                    plan.arithmetic.block.terms, acc);
}

void exponents(const float* x, std::size_t n, int emin, std::int32_t* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto u = std::bit_cast<std::uint32_t>(x[i]);
    const auto field = static_cast<std::int32_t>(u >> 23 & 0xff);
    const std::int32_t e = field - 127 < emin ? emin : field - 127;
    out[i] = (u & 0x7fffffffu) == 0 ? kZeroExponent : field == 255 ? kSpecialExponent : e;
  }
}

// Part `part` of one row of operands.
void take_part(OperandFormat format, int part, float* x, int n) {
  for (int i = 0; i < n; ++i) {
    float rest = x[i], shortened = shorten(format, rest);
    for (int p = 0; p < part; ++p) {
      rest = rest - shortened;
      shortened = shorten(format, rest);
    }
    x[i] = shortened;
  }
}

// The least |x| that is not zero.
template <class T>
double smallest_magnitude(const T* x, std::size_t n) {
  T least = std::numeric_limits<T>::infinity();
  for (std::size_t i = 0; i < n; ++i) {
    const T m = std::fabs(x[i]);
    least = m < least && m != 0 ? m : least;
  }
  return static_cast<double>(least);
}

template <class T>
T rounded(DType format, T x) {
  return static_cast<T>(round_in(format, static_cast<double>(x)));
}

}  // namespace

TileReplay::TileReplay(const Plan& plan, const ChunkedProgram& chunked, const TileGrid& grid,
                       const Operands& operands, std::uint32_t* out)
    : plan_(plan),
      chunked_(chunked),
      grid_(grid),
      operands_(operands),
      out_(out),
      engine_(engine_for(plan)),
      kernels_(kernels_for(simd_level())),
      packer_(grid, operands),
      scratch_terms_(grid.contraction()) {}

template <class T>
void TileReplay::shorten_rows(Operand operand, std::int64_t chunk, int width, std::int64_t panels,
                              T* panel) const {
  const Program& p = chunked_.program;
  const std::int64_t n = chunked_.places_in(chunk);
  const std::int64_t* places = p.places.data() + chunk * chunked_.length;
  const bool second = operand == Operand::b;
  const OperandFormat format = second ? plan_.operands.b : plan_.operands.a;
  if constexpr (std::is_same_v<T, float>) {
    if (p.passes == 1) {
      shorten(format, panel, static_cast<std::size_t>(panels * n * width));
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        if (places[i] < 0) continue;
        const Pass& pass = plan_.operands.passes[static_cast<std::size_t>(places[i] % p.passes)];
        for (std::int64_t k = 0; k < panels; ++k)
          take_part(format, second ? pass.b : pass.a, panel + (k * n + i) * width, width);
      }
    }
  }
  if (!chunked_.has_empty_places) return;
  for (std::int64_t i = 0; i < n; ++i)
    if (places[i] < 0)
      for (std::int64_t k = 0; k < panels; ++k) std::fill_n(panel + (k * n + i) * width, width, T{0});
}

template <class T>
void TileReplay::pack(Side side, const TermBlock& terms, std::int64_t chunk, int width, std::int64_t panels,
                      std::vector<T>& panel, std::vector<std::int32_t>& exponent) {
  const auto size = static_cast<std::size_t>(panels * terms.size() * width);
  if (panel.size() < size) panel.resize(size);
  packer_.pack(side, terms, width, panel.data());
  shorten_rows(grid_.operand(side), chunk, width, panels, panel.data());
  double& smallest = smallest_[static_cast<std::size_t>(side)];
  if (chunk == 0) smallest = HUGE_VAL;
  if (zeros_packed()) smallest = std::min(smallest, smallest_magnitude(panel.data(), size));
  if constexpr (std::is_same_v<T, float>) {
    if (plan_.arithmetic.step != Step::block) return;
    if (exponent.size() < size) exponent.resize(size);
    const bool second = grid_.operand(side) == Operand::b;
    exponents(panel.data(), size, info(second ? plan_.operands.b : plan_.operands.a).emin, exponent.data());
  }
}

double TileReplay::bias_of(std::int64_t lane, std::int64_t column) const {
  if (!grid_.contraction().has_bias) return 0;
  return operands_.bias.at(packer_.lane_bias()[static_cast<std::size_t>(lane)] +
                           packer_.column_bias()[static_cast<std::size_t>(column)]);
}

template <class T>
void TileReplay::start(const Op& op, std::int64_t lane_panel, std::int64_t column_panel, T* acc) const {
  std::fill_n(acc, kBlock, T{0});
  if (!op.takes_bias || !grid_.contraction().has_bias) return;
  for (std::int64_t u = 0; u < columns_wide_ && column_panel * columns_wide_ + u < tile_.columns; ++u)
    for (std::int64_t l = 0; l < kLanes && lane_panel * kLanes + l < tile_.lanes; ++l)
      acc[u * kLanes + l] = static_cast<T>(round_in(
          plan_.arithmetic.accumulator, bias_of(lane_panel * kLanes + l, column_panel * columns_wide_ + u)));
}

void TileReplay::chain(const Op& op, std::int64_t n, std::int64_t lane_panel, std::int64_t column_panel,
                       float* acc) {
  const auto lane = static_cast<std::size_t>((lane_panel * n + op.from) * kLanes);
  const auto column = static_cast<std::size_t>((column_panel * n + op.from) * columns_wide_);
  ChainJob job;
  job.n = op.to - op.from;
  job.columns = columns_wide_;
  job.lanes = lanes_.data() + lane;
  job.column = columns_.data() + column;
  job.acc = acc;
  switch (plan_.arithmetic.step) {
    case Step::fma:
      return kernels_.fma(job);
    case Step::mul_add:
      return kernels_.mul_add(job);
    case Step::kahan:
    case Step::kahan_fma:
      job.compensation = compensation_.data() + (acc - registers_.data());
      return (plan_.arithmetic.step == Step::kahan ? kernels_.kahan : kernels_.kahan_fma)(job);
    case Step::block: {
      job.lane_exponent = lane_exponent_.data() + lane;
      job.column_exponent = column_exponent_.data() + column;
      job.terms = plan_.arithmetic.block.terms;
      job.frac = plan_.arithmetic.block.frac;
      job.floor = plan_.arithmetic.block.floor;
      job.exact_step = exact_step;
      job.context = &plan_;
      const TowardZero mode;
      return kernels_.block(job);
    }
  }
}

void TileReplay::chain(const Op& op, std::int64_t n, std::int64_t lane_panel, std::int64_t column_panel,
                       double* acc) {
  const auto lane = static_cast<std::size_t>((lane_panel * n + op.from) * kLanes);
  const auto column = static_cast<std::size_t>((column_panel * n + op.from) * columns_wide_);
  WideJob job;
  job.n = op.to - op.from;
  job.columns = columns_wide_;
  job.acc = acc;
  if (!lanes64_.empty()) {
    job.lanes64 = lanes64_.data() + lane;
    job.column64 = columns64_.data() + column;
  } else {
    job.lanes = lanes_.data() + lane;
    job.column = columns_.data() + column;
  }
  if (plan_.arithmetic.step == Step::fma)
    kernels_.wide_fma(job);
  else if (plan_.arithmetic.product == DType::f32)
    kernels_.wide_mul_add(job);
  else
    kernels_.wide_products(job);
}

// One block of outputs through one chunk of the program.
template <class T>
void TileReplay::run(std::vector<T>& registers, std::int64_t chunk, std::int64_t lane_panel,
                     std::int64_t column_panel) {
  const Program& p = chunked_.program;
  const std::int64_t n = chunked_.places_in(chunk);
  T* base = registers.data() +
            static_cast<std::size_t>((lane_panel * column_panels_ + column_panel) * p.registers) * kBlock;
  for (std::size_t i = chunked_.first_op[static_cast<std::size_t>(chunk)];
       i < chunked_.first_op[static_cast<std::size_t>(chunk) + 1]; ++i) {
    const Op& op = chunked_.ops[i];
    T* dst = base + static_cast<std::size_t>(op.dst) * kBlock;
    switch (op.kind) {
      case OpKind::chain:
        start(op, lane_panel, column_panel, dst);
        if (!compensation_.empty())
          std::fill_n(compensation_.data() + (dst - registers.data()), kBlock, 0.0f);
        [[fallthrough]];
      case OpKind::extend:
        if (op.from < op.to) chain(op, n, lane_panel, column_panel, dst);
        break;
      case OpKind::add: {
        const T* src = base + static_cast<std::size_t>(op.src) * kBlock;
        for (std::size_t k = 0; k < kBlock; ++k) dst[k] += src[k];
        break;
      }
      case OpKind::round:
        for (std::size_t k = 0; k < kBlock; ++k) dst[k] = rounded(op.format, dst[k]);
        break;
    }
  }
}

template <class T>
void TileReplay::store(const std::vector<T>& registers) {
  const Contraction& c = grid_.contraction();
  const Program& p = chunked_.program;
  const bool as_is = std::is_same_v<T, float> && plan_.out == DType::f32 && !c.has_bias && !plan_.alpha &&
                     !plan_.beta && c.divisor == 1;
  // Missing taps and empty places were packed as zeros. That differs from leaving them out where an operand
  // is not finite, in compensated sums (a step adds its compensation anyway), and in the sign of a zero: -0 +
  // 0 is +0. But a sum that starts from +0 only gets to -0 by underflow, and where the smallest product's
  // last bit, 46 places below its first (2^-104 in doubles), is no less than 2^-149 (2^-1074) nothing
  // underflows.
  const double limit = std::is_same_v<T, float> ? 0x1p-103 : 0x1p-900;
  const bool no_underflow =
      smallest_[0] * smallest_[1] >= limit && !(plan_.bias == BiasPlace::first && c.has_bias);
  const auto uncertain = [&](T sum) {
    return !compensation_.empty() || !std::isfinite(sum) || (sum == 0 && !no_underflow);
  };
  for (std::int64_t u = 0; u < tile_.columns; ++u)
    for (std::int64_t l = 0; l < tile_.lanes; ++l) {
      const std::int64_t block = l / kLanes * column_panels_ + u / columns_wide_;
      const T sum = registers[static_cast<std::size_t>(block * p.registers) * kBlock +
                              static_cast<std::size_t>(u % columns_wide_ * kLanes + l % kLanes)];
      const std::int64_t o =
          packer_.lane_out()[static_cast<std::size_t>(l)] + packer_.column_out()[static_cast<std::size_t>(u)];
      if (zeros_packed() && uncertain(sum)) {
        if (!scalar_) scalar_.emplace(plan_, p, c, operands_);
        out_[o] = (*scalar_)(grid_.begin() + o);
      } else if (as_is) {
        out_[o] = std::isnan(sum) ? kCanonicalNan : std::bit_cast<std::uint32_t>(static_cast<float>(sum));
      } else {
        out_[o] = finish(plan_, c, static_cast<double>(sum), bias_of(l, u));
      }
    }
}

template <class T>
void TileReplay::replay_tile(std::vector<T>& registers) {
  const std::size_t size =
      static_cast<std::size_t>(lane_panels_ * column_panels_ * chunked_.program.registers) * kBlock;
  if (registers.size() < size) registers.resize(size);
  const bool compensated = plan_.arithmetic.step == Step::kahan || plan_.arithmetic.step == Step::kahan_fma;
  if (compensated && compensation_.size() < registers.size()) compensation_.resize(registers.size());
  const bool doubles = plan_.operands.a == OperandFormat::fp64 || plan_.operands.b == OperandFormat::fp64;
  for (std::int64_t chunk = 0; chunk < chunked_.chunks(); ++chunk) {
    const TermBlock* terms = &scratch_terms_;
    if (!chunked_.terms.empty()) {
      terms = &chunked_.terms[static_cast<std::size_t>(chunk)];
    } else {
      chunked_.term_ids(chunk, ids_);
      scratch_terms_.assign(ids_);
    }
    // Neighbouring tiles often share their columns; with one chunk the panel is still there.
    const bool same_columns =
        chunked_.chunks() == 1 && packed_key_ == packer_.columns_key() && packed_wide_ == columns_wide_;
    if (doubles) {
      pack(Side::lanes, *terms, chunk, kLanes, lane_panels_, lanes64_, lane_exponent_);
      if (!same_columns)
        pack(Side::columns, *terms, chunk, columns_wide_, column_panels_, columns64_, column_exponent_);
    } else {
      pack(Side::lanes, *terms, chunk, kLanes, lane_panels_, lanes_, lane_exponent_);
      if (!same_columns)
        pack(Side::columns, *terms, chunk, columns_wide_, column_panels_, columns_, column_exponent_);
    }
    packed_key_ = packer_.columns_key();
    packed_wide_ = columns_wide_;
    for (std::int64_t i = 0; i < lane_panels_; ++i)
      for (std::int64_t j = 0; j < column_panels_; ++j) run(registers, chunk, i, j);
  }
  store(registers);
}

void TileReplay::operator()(const Tile& tile) {
  tile_ = tile;
  packer_.move_to(tile);
  columns_wide_ = tile.columns == 1 ? 1 : kColumns;
  lane_panels_ = (tile.lanes + kLanes - 1) / kLanes;
  column_panels_ = (tile.columns + columns_wide_ - 1) / columns_wide_;
  if (engine_ == Engine::wide)
    replay_tile(registers64_);
  else
    replay_tile(registers_);
}

}  // namespace ulpscope
