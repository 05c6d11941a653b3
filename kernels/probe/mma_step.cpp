#include "kernels/probe/mma_step.hpp"

namespace ulpscope {

const char* to_string(MmaKind kind) {
  switch (kind) {
    case MmaKind::tf32_f32:
      return "tf32";
    case MmaKind::bf16_f32:
      return "bf16";
    case MmaKind::f16_f32:
      return "fp16";
    case MmaKind::f16_f16:
      return "fp16, fp16 accumulator";
  }
  return "?";
}

int mma_k(MmaKind kind) {
  return kind == MmaKind::tf32_f32 ? 8 : 16;
}

}  // namespace ulpscope
