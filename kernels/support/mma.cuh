#pragma once
// Tensor-core steps of one warp, and what one of them is made of: operands rounded and packed into 32-bit
// words, one accumulating instruction, and the value of an accumulator. All see the same 16x8 words of A, 8x8
// words of B:
//   A: a[0] row g word t, a[1] row g+8 word t, a[2] row g word t+4, a[3] row g+8 word t+4     g = lane / 4, t
//   = lane % 4 B: b[0] word t column g, b[1] word t+4 column g D: d[0] row g column 2t, d[1] column 2t+1,
//   d[2] and d[3] the same in row g+8
// (PTX ISA, "Matrix fragments for mma.m16n8k8" and "mma.m16n8k16": a word is one TF32 or two 16-bit numbers.)
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/support/sums.hpp"

namespace ulpscope {

/// d = a*b + c; d and c may be the same.
__device__ __forceinline__ void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2], const float (&c)[4]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
        "f"(c[3]));
}
__device__ __forceinline__ void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2], const float (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
        "f"(c[3]));
}
__device__ __forceinline__ void mma_f16(float (&d)[4], const std::uint32_t (&a)[4],
                                        const std::uint32_t (&b)[2], const float (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
        "f"(c[3]));
}

/// Operands rounded to TF32, one chain of tensor-core steps of 8.
template <Tf32Rounding R>
struct Tf32Mma {
  static constexpr int elements = 1, planes = 1;  // numbers in a word; words a number becomes
  using Fallback = Tf32FmaChain<R>;               // for outputs whose missing taps met an infinity
  float d[4] = {};

  static __device__ __forceinline__ void pack(const float (&v)[1], std::uint32_t (&word)[1]) {
    word[0] = __float_as_uint(to_tf32<R>(v[0]));
  }
  __device__ __forceinline__ void step(const std::uint32_t (&a)[1][4], const std::uint32_t (&b)[1][2]) {
    mma_tf32(d, a[0], b[0], d);
  }
  __device__ __forceinline__ float value(int i) const { return d[i]; }
};

/// fp32 accuracy from TF32 products (Ootomo & Yokota, IJHPCA 2022): v = hi + lo, both rounded to TF32, and
/// x*w ~ lo*hi + hi*lo + hi*hi. The small products have a sum of their own, and each step starts from zero
/// and is added in fp32, because the tensor core's own accumulator truncates.
struct ThreePassTf32Mma {
  static constexpr int elements = 1, planes = 2;
  using Fallback = FmaChain;  // lo is NaN where hi is infinite
  float small[4] = {}, large[4] = {};

  static __device__ __forceinline__ void pack(const float (&v)[1], std::uint32_t (&word)[2]) {
    const float hi = to_tf32<Tf32Rounding::rna>(v[0]);
    word[0] = __float_as_uint(hi);
    word[1] = __float_as_uint(to_tf32<Tf32Rounding::rna>(__fsub_rn(v[0], hi)));
  }
  /// a: weights, b: inputs. The input's part is named first in the plan: lo*hi is input lo by weight hi.
  __device__ __forceinline__ void step(const std::uint32_t (&a)[2][4], const std::uint32_t (&b)[2][2]) {
    add(small, a[0], b[1]);
    add(small, a[1], b[0]);
    add(large, a[0], b[0]);
  }
  __device__ __forceinline__ float value(int i) const { return __fadd_rn(small[i], large[i]); }

 private:
  static __device__ __forceinline__ void add(float (&sum)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
    const float zero[4] = {};
    float d[4];
    mma_tf32(d, a, b, zero);
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[i] = __fadd_rn(sum[i], d[i]);
  }
};

template <class T>
struct RoundedFmaChain : FmaChain {
  static ULPSCOPE_HD float operand(float v) { return static_cast<float>(static_cast<T>(v)); }
};

/// Operands rounded to BF16 or FP16, to nearest even, one chain of tensor-core steps of 16.
struct Bf16Mma {
  static constexpr int elements = 2, planes = 1;
  using Fallback = RoundedFmaChain<__nv_bfloat16>;
  float d[4] = {};

  static __device__ __forceinline__ void pack(const float (&v)[2], std::uint32_t (&word)[1]) {
    const std::uint32_t low = __bfloat16_as_ushort(__float2bfloat16_rn(v[0]));
    word[0] = low | static_cast<std::uint32_t>(__bfloat16_as_ushort(__float2bfloat16_rn(v[1]))) << 16;
  }
  __device__ __forceinline__ void step(const std::uint32_t (&a)[1][4], const std::uint32_t (&b)[1][2]) {
    mma_bf16(d, a[0], b[0], d);
  }
  __device__ __forceinline__ float value(int i) const { return d[i]; }
};
struct Fp16Mma {
  static constexpr int elements = 2, planes = 1;
  using Fallback = RoundedFmaChain<__half>;
  float d[4] = {};

  static __device__ __forceinline__ void pack(const float (&v)[2], std::uint32_t (&word)[1]) {
    const std::uint32_t low = __half_as_ushort(__float2half_rn(v[0]));
    word[0] = low | static_cast<std::uint32_t>(__half_as_ushort(__float2half_rn(v[1]))) << 16;
  }
  __device__ __forceinline__ void step(const std::uint32_t (&a)[1][4], const std::uint32_t (&b)[1][2]) {
    mma_f16(d, a[0], b[0], d);
  }
  __device__ __forceinline__ float value(int i) const { return d[i]; }
};

}  // namespace ulpscope
