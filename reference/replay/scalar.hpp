#pragma once
// Replay of one output, one operation at a time in exact scalar arithmetic: the definition of what a plan
// means, the witness for the fast loops, and the path for what they leave out (infinities, subnormals, rare
// formats).
#include <cstdint>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/exact.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/plan/program.hpp"

namespace ulpscope {

/// The NaN a plan writes in its output format: NVIDIA's (0x7fffffff, 0x7fff).
std::uint32_t canonical_nan(DType out);

/// What follows the sum: alpha, beta, bias, division, output format. `sum` is reg 0, `bias` 0 if there is
/// none.
std::uint32_t finish(const Plan& plan, const Contraction& c, double sum, double bias);

class ScalarReplay {
 public:
  ScalarReplay(const Plan& plan, const Program& program, const Contraction& c, const Operands& operands);
  /// Right-aligned bits of output o. Not thread-safe: it owns scratch.
  std::uint32_t operator()(std::int64_t o);
  /// After a call: the partial sums of an outermost `unordered` level, as they would be added.
  const std::vector<double>& unordered_parts() const { return parts_; }

 private:
  double chain(const Op& op, double acc) const;

  const Plan& plan_;
  const Program& program_;
  const Contraction& c_;
  const Operands& operands_;
  std::vector<double> a_, b_;      // by slot, shortened
  std::vector<std::uint8_t> has_;  // by slot
  std::vector<double> reg_, parts_;
};

/// Element i of an operand, shortened, as part `part` of a multi-pass scheme.
double operand_part(const TensorView& tensor, std::int64_t i, OperandFormat format, int part);

}  // namespace ulpscope
