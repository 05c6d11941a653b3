#pragma once
// One tensor-core instruction as a function, so that its arithmetic can be probed: no library in between.
#include <cstdint>
#include <vector>

namespace ulpscope {

/// Which mma.sync: operands and accumulator (= output). K is 8 for TF32 and 16 for the 16-bit formats.
enum class MmaKind : std::uint8_t { tf32_f32, bf16_f32, f16_f32, f16_f16 };
const char* to_string(MmaKind kind);
int mma_k(MmaKind kind);

/// d[r] = mma(a[r, 0..K), b[r, 0..K), c[r]) for `rows` independent rows, one m16n8k8 (TF32) or m16n8k16
/// instruction each (PTX ISA, "Warp-level matrix multiply-accumulate"). Raw bits: a and b are [rows, K]
/// 32-bit words for TF32 (the instruction itself ignores the low 13 bits) and 16-bit numbers otherwise,
/// right-aligned; c and d are fp32 words, or 16-bit numbers for f16_f16. Throws Error where there is no
/// device or it lacks the instruction (before sm_80).
std::vector<std::uint32_t> mma_step(MmaKind kind, const std::vector<std::uint32_t>& a,
                                    const std::vector<std::uint32_t>& b, const std::vector<std::uint32_t>& c);

}  // namespace ulpscope
