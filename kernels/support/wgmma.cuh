#pragma once
// Hopper's warpgroup matrix instruction, TF32: 64 rows of A from registers times 64 columns of B from shared
// memory. The one place that asks for the sm_90a feature set: built for any other target the step traps, so
// launchers must refuse such devices first.
#include <cstdint>

namespace ulpscope {

/// Shared-memory address of B as the instruction wants it, without swizzle and K-major: cores of 8 columns x
/// 16 bytes (4 TF32) are contiguous; `k_stride` bytes from a core to the next 4 terms, `n_stride` to the next
/// 8 columns. (PTX ISA, "Matrix descriptor format".)
__device__ __forceinline__ std::uint64_t wgmma_descriptor(const void* shared, int k_stride, int n_stride) {
  const auto encode = [](std::uint32_t bytes) { return static_cast<std::uint64_t>((bytes & 0x3ffffu) >> 4); };
  return encode(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))) |
         encode(static_cast<std::uint32_t>(k_stride)) << 16 |
         encode(static_cast<std::uint32_t>(n_stride)) << 32;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// Stores to shared memory become visible to the instruction (which reads it by another path).
__device__ __forceinline__ void wgmma_shared_ready() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// Registers written so far become visible to the instructions that follow.
__device__ __forceinline__ void wgmma_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// Waits for all instructions issued so far.
__device__ __forceinline__ void wgmma_end() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
/// d += a*b, 64x64x8. a: as mma.m16n8k8, warp w of the group holding rows 16w; d[4j + i]: columns 8j of the
/// same layout.
__device__ __forceinline__ void wgmma_m64n64k8_tf32(float (&d)[32], const std::uint32_t (&a)[4],
                                                    std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31 "
      "}, {%32, %33, %34, %35}, %36, 1, 1, 1;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
        "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#else

__device__ __forceinline__ void wgmma_shared_ready() {}
__device__ __forceinline__ void wgmma_begin() {}
__device__ __forceinline__ void wgmma_end() {}
__device__ __forceinline__ void wgmma_m64n64k8_tf32(float (&)[32], const std::uint32_t (&)[4],
                                                    std::uint64_t) {
  __trap();
}

#endif

}  // namespace ulpscope
