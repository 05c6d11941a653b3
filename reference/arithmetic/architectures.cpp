#include "reference/arithmetic/architectures.hpp"

#include <array>

namespace ulpscope {
namespace {

constexpr BlockStep step(int terms, int frac, int keep = 23) {
  return {terms, frac, StepRounding::rz, -133, keep, DType::f32};
}
// An FP16 result: the same sum, rounded to nearest even.
constexpr BlockStep half_out(int terms, int frac) {
  return {terms, frac, StepRounding::rne, -133, 23, DType::f16};
}

constexpr std::array kTable{
    TensorCore{"Volta", 70, 72, OperandFormat::fp16, step(4, 23), false},
    TensorCore{"Volta", 70, 72, OperandFormat::fp16, half_out(4, 23), false},
    TensorCore{"Turing", 75, 75, OperandFormat::fp16, step(8, 24), false},
    TensorCore{"Turing", 75, 75, OperandFormat::fp16, half_out(8, 24), false},
    // m16n8k8.tf32 is two chained steps of 4.
    TensorCore{"Ampere, Ada", 80, 89, OperandFormat::tf32_rz, step(4, 24), false},
    TensorCore{"Ampere, Ada", 80, 89, OperandFormat::bf16, step(8, 24), false},
    TensorCore{"Ampere, Ada", 80, 89, OperandFormat::fp16, step(8, 24), false},
    TensorCore{"Ampere, Ada", 80, 89, OperandFormat::fp16, half_out(8, 24), false},
    TensorCore{"Hopper", 90, 90, OperandFormat::tf32_rz, step(8, 25), true},
    TensorCore{"Hopper", 90, 90, OperandFormat::bf16, step(16, 25), true},
    TensorCore{"Hopper", 90, 90, OperandFormat::fp16, step(16, 25), true},
    TensorCore{"Hopper", 90, 90, OperandFormat::fp16, half_out(16, 25), false},
    TensorCore{"Hopper", 90, 90, OperandFormat::fp8_e4m3, step(32, 13, 13), false},
    TensorCore{"Hopper", 90, 90, OperandFormat::fp8_e5m2, step(32, 13, 13), false},
    TensorCore{"Blackwell", 100, 103, OperandFormat::tf32_rz, step(8, 25), false},
    TensorCore{"Blackwell", 100, 103, OperandFormat::bf16, step(16, 25), false},
    TensorCore{"Blackwell", 100, 103, OperandFormat::fp16, step(16, 25), false},
    TensorCore{"Blackwell", 100, 103, OperandFormat::fp16, half_out(16, 25), false},
    TensorCore{"Blackwell", 100, 103, OperandFormat::fp8_e4m3, step(32, 25), false},
    TensorCore{"Blackwell", 100, 103, OperandFormat::fp8_e5m2, step(32, 25), false},
};

OperandFormat family(OperandFormat o) {
  if (o == OperandFormat::tf32_rne || o == OperandFormat::tf32_rna) return OperandFormat::tf32_rz;
  return o == OperandFormat::bf16_rz ? OperandFormat::bf16 : o;
}

}  // namespace

std::span<const TensorCore> tensor_cores() {
  return kTable;
}

const TensorCore* find_tensor_core(int sm, OperandFormat operand, DType accumulator) {
  for (const TensorCore& t : kTable)
    if (sm >= t.sm_from && sm <= t.sm_to && t.operand == family(operand) && t.step.accumulator == accumulator)
      return &t;
  return nullptr;
}

}  // namespace ulpscope
