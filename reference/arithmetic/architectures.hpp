#pragma once
// What each generation's tensor cores do, in one table. Sources: Hopper's TF32, FP16 and BF16 rows were
// measured (reports/recorded); the others are from Fasi, Higham, Mikaitis, Pranesh (PeerJ CS 7:e330), Xie et
// al. (arXiv 2511.10909) and Khattak & Mikaitis (arXiv 2512.07004).
#include <span>
#include <string_view>

#include "reference/arithmetic/block_step.hpp"

namespace ulpscope {

struct TensorCore {
  const char* architecture;  // "Hopper"
  int sm_from, sm_to;        // compute capability, 10*major + minor, both included
  OperandFormat operand;     // tf32_rz: the instruction itself truncates
  BlockStep step;
  bool measured;  // by this project's recordings; else from the literature
};

std::span<const TensorCore> tensor_cores();

/// The row for a compute capability and operand format (any TF32 rounding), or null.
const TensorCore* find_tensor_core(int sm, OperandFormat operand, DType accumulator = DType::f32);

}  // namespace ulpscope
