#include <algorithm>
#include <bit>

#include "harness/measure.hpp"

namespace ulpscope {
namespace {
// Two results of one format are compared bit for bit in it; of different formats as the fp32 values they
// embed in.
DType common_format(DType candidate, DType reference) {
  return candidate == reference ? candidate : DType::f32;
}

OutputBound no_bound() {
  OutputBound b;
  b.per_s = std::numeric_limits<double>::infinity();
  return b;
}
}  // namespace

PairMeasurer::PairMeasurer(std::shared_ptr<const StrataMap> map, DType candidate, DType reference,
                           std::optional<Tolerance> tolerance)
    : candidate_(candidate),
      reference_(reference),
      measurer_(std::move(map), {common_format(candidate, reference), no_bound(), tolerance, 0}) {}

void PairMeasurer::add(std::int64_t begin, std::int64_t count, const void* candidate, const void* reference) {
  constexpr std::int64_t kChunk = kMeasureBlock;
  const DType common = common_format(candidate_, reference_);
  const TensorView c{candidate, candidate_, {count}}, r{reference, reference_, {count}};
  double value[kChunk], one[kChunk];
  std::uint32_t bits[kChunk], widened[kChunk];
  std::fill_n(one, kChunk, 1.0);
  auto bits_as_common = [&](const TensorView& t, std::int64_t i) {
    if (t.dtype == common) return static_cast<std::uint32_t>(t.bits_at(i));
    return std::bit_cast<std::uint32_t>(static_cast<float>(t.at(i)));
  };
  for (std::int64_t from = 0; from < count; from += kChunk) {
    const std::int64_t n = std::min(kChunk, count - from);
    for (std::int64_t i = 0; i < n; ++i) {
      value[i] = r.at(from + i);
      bits[i] = bits_as_common(r, from + i);
    }
    const void* data = static_cast<const char*>(candidate) + from * size_of(candidate_);
    if (candidate_ != common) {
      for (std::int64_t i = 0; i < n; ++i) widened[i] = bits_as_common(c, from + i);
      data = widened;
    }
    measurer_.add(begin + from, n, data, value, one, bits);
  }
}

PairMeasurement PairMeasurer::result() const {
  const Measurement m = measurer_.result({});
  PairMeasurement p;
  p.outputs = m.outputs;
  p.finite_pairs = m.finite_pairs;
  p.nonfinite = m.nonfinite;
  p.nonfinite_mismatch = m.nonfinite_mismatch;
  p.zero_sign_mismatch = m.zero_sign_mismatch;
  p.equal_bits = m.equal_bits;
  p.max_abs = m.max_abs;
  p.mean_abs = m.mean_abs;
  p.mean_signed = m.mean_signed;
  p.max_abs_index = m.max_abs_index;
  p.violations = m.violations;
  p.strata = m.strata;  // with S = 1 by position, the scaled error is the error in units of 2^-24
  for (auto& row : p.strata["terms"]) row.erase("max_scaled");
  if (p.strata["channel"].is_object()) p.strata["channel"].erase("max_scaled");
  return p;
}

}  // namespace ulpscope
