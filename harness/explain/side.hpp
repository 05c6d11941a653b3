#pragma once
// One result against the truth: errors, operand rounding, plan, structural mistake.
#include "harness/explain/explain.hpp"

namespace ulpscope {

/// The true values of the request's outputs, computed once for each output format.
struct Truth {
  DType out = DType::f32;
  std::vector<double> value, magnitude;
  std::vector<std::uint32_t> rounded;
};
Truth truth_of(const Contraction& c, const Operands& operands, DType out, int threads);

struct SideInput {
  const Dump* dump = nullptr;
  const Operands* operands = nullptr;
  std::optional<Mode> mode;
  std::vector<std::string> hints;
  const Dump* stale = nullptr;  // another dump that this one may repeat by mistake
  bool nondeterministic = false;
};

SideReport explain_side(const ExplainRequest& request, const SideInput& side, const Truth& truth);

/// A copy of a tensor with every element shortened (fp32 out); the tensor itself for fp32.
Tensor shortened(const TensorView& t, OperandFormat format);

/// Whether two roundings leave the same data.
bool same_data(const TensorView& t, OperandFormat f, OperandFormat g);

}  // namespace ulpscope
