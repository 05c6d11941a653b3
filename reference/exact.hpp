#pragma once
// The true result of the stored inputs, and its correctly rounded value, for every output.
//
// An fp64 sum of exact products is within (K-1)*2^-53*S of the truth; where no rounding boundary of the
// output format lies that near, it rounds correctly (certified). Multiples-of-2^q sums with S <= 2^(q+53) are
// exact. The rest goes through a compensated sum, and only what that cannot decide to MPFR. One rounding,
// straight to the output format.
#include <cstdint>
#include <span>

#include "reference/contraction.hpp"

namespace ulpscope {

/// Which rule settled how many outputs.
struct ExactTally {
  std::int64_t certified = 0, exact_sum = 0, compensated = 0, mpfr = 0,
               special = 0;  // special: inf or NaN involved
  ExactTally& operator+=(const ExactTally& o);
};

/// Results for a run of outputs; each array has `count` entries, any may be null if not wanted.
struct ExactOut {
  double* value =
      nullptr;  // the true value, off by at most 2^-10 ulp of the output format (and 2^-43 relative)
  double* magnitude = nullptr;  // S = sum |a||b| (+|bias|), inflated to an upper bound
  std::uint32_t* rounded =
      nullptr;  // bits of the correctly rounded value in the output format, right-aligned (fp64: null)
};

struct ExactOptions {
  DType out = DType::f32;
  int threads = 0;  // 0: all cores. Results do not depend on it.
};

/// Operands of a contraction. bias.data may be null.
struct Operands {
  TensorView a, b, bias;
};

/// Outputs [begin, begin+count) in linear output order. Working memory is bounded (<= 512 MiB) whatever the
/// size. Special values: the result is what IEEE arithmetic on the exact sum gives (NaN if a NaN, 0*inf or
/// inf-inf takes part; an infinity of the infinite terms' sign; exact zero is -0 only if all terms are -0).
ExactTally exact(const Contraction& c, const Operands& operands, const ExactOptions& options,
                 std::int64_t begin, std::int64_t count, const ExactOut& out);

}  // namespace ulpscope
