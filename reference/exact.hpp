#pragma once
// The true result of the stored inputs, and its correctly rounded value, for every output.
//
// An fp64 sum of exact products is within (K-1)*2^-53*S of the truth; where no rounding boundary of the
// output format lies that near, it rounds correctly (certified). Multiples-of-2^q sums with S <= 2^(q+53) are
// exact. The rest goes through a compensated sum, and only what that cannot decide to MPFR. One rounding,
// straight to the output format.
#include <cstdint>
#include <functional>
#include <span>

#include "reference/contraction.hpp"
#include "reference/simd.hpp"

namespace ulpscope {

/// Which rule settled how many outputs.
struct ExactTally {
  std::int64_t certified = 0, exact_sum = 0, compensated = 0, mpfr = 0,
               special = 0;  // special: inf or NaN involved
  ExactTally& operator+=(const ExactTally& o);
};

/// Results for a run of outputs; each array has `count` entries, any may be null if not wanted.
struct ExactOut {
  /// The true value, off by at most 2^-34 of itself or, near zero, 2^-10 of the output format's smallest
  /// subnormal: 2^-10 ulp of fp32, far less of 16-bit formats. fp64 output: correctly rounded.
  double* value = nullptr;
  double* magnitude = nullptr;  // S = sum |a||b| (+|bias|), inflated to an upper bound; not divided (mean)
  std::uint32_t* rounded =
      nullptr;  // the correctly rounded value's bits, right-aligned (fp64 output: untouched)
};

struct ExactOptions {
  DType out = DType::f32;
  int threads = 0;                 // 0: all cores. Results do not depend on it.
  SimdLevel level = simd_level();  // nor on this
};

/// Operands of a contraction. bias.data may be null.
struct Operands {
  TensorView a, b, bias;
};

/// Outputs [begin, begin+count) in linear output order. Working memory is bounded (<= 512 MiB) whatever the
/// size.
///
/// Special values are what IEEE arithmetic on the exact sum gives: NaN if a NaN, 0*inf or inf-inf takes part;
/// else an infinity of the infinite terms' sign, and S is infinite. A finite sum that rounds beyond the
/// largest number is an infinity in `rounded`, and finite in `value`. Exact zero is -0 only if there are
/// terms and all are -0 (a bias is a term, padding is none). NaN is the canonical quiet one. A mean's sum is
/// divided before the one rounding.
ExactTally exact(const Contraction& c, const Operands& operands, const ExactOptions& options,
                 std::int64_t begin, std::int64_t count, const ExactOut& out);

/// The same for scattered outputs; out's arrays have one entry per index.
ExactTally exact_at(const Contraction& c, const Operands& operands, const ExactOptions& options,
                    std::span<const std::int64_t> indices, const ExactOut& out);

/// A run of consecutive outputs as exact_rows hands it over; the arrays live during the call only.
struct ExactRow {
  std::int64_t index = 0, count = 0;  // outputs [index, index + count)
  const double* value = nullptr;
  const double* magnitude = nullptr;
  const std::uint32_t* rounded = nullptr;  // fp64 output: null
};

/// The same, streamed: `visit` is called, from several threads at once and in no promised order, on rows that
/// cover [begin, begin+count) once. Nothing of the problem's size is allocated, and tiles span channels,
/// which a loop of exact() over slabs would cut: the way to pass over 2^31 outputs.
ExactTally exact_rows(const Contraction& c, const Operands& operands, const ExactOptions& options,
                      std::int64_t begin, std::int64_t count,
                      const std::function<void(const ExactRow&)>& visit);

}  // namespace ulpscope
