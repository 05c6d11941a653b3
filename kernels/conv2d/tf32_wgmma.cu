// TF32 tensor cores by wgmma m64n64k8 (sm_90a only); operands rounded to nearest, ties to even, as cuBLAS
// does. Order: chunks of 8 input channels, within a chunk the taps; 8 channels of one tap are one fused step.
// Promise: TF32. A step aligns 8 products and the accumulator at 25 fractional bits and truncates: bit for
// bit mma.sync on the same operands. Cost: one instruction of four warps per 64x64x8 products; the loads
// bound it.
//
// The product is transposed: positions are the rows, which may come from registers in any layout, and weights
// the columns, because the instruction takes TF32 from shared memory only with the terms innermost, as
// filters have them.
#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/support/device_info.hpp"
#include "kernels/support/tile_gemm.cuh"
#include "kernels/support/wgmma.cuh"

namespace ulpscope {
namespace {

constexpr int kPositions = 128, kRows = 128, kDepth = 32, kThreads = 256;
constexpr Tf32Rounding kRounding = Tf32Rounding::rne;
constexpr int kCore = 32;                       // words of 8 columns x 4 terms
constexpr int kCoreColumn = kRows / 8 * kCore;  // words of 4 terms of all columns

__global__ void __launch_bounds__(kThreads)
    tf32_wgmma(const Conv2dMap map, const float* __restrict__ x, const float* __restrict__ w,
               const float* __restrict__ bias, float* __restrict__ out, std::int64_t tiles) {
  __shared__ __align__(128) float ws[kDepth / 4 * kCoreColumn];
  __shared__ float xs[kDepth][kPositions + 8];  // 8: the four rows of a fragment fall into different banks
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
  const int first = warp * 16 + g;  // this thread's position in the tile, and 8 further on
  const int depth = map.order.depth();

  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const TilePlace at = tile_place<kRows, kPositions>(map, tile);
    const std::int64_t staged = at.position + thread % kPositions;
    const bool in_range = staged < map.positions;
    const auto column = map.column(at.image, at.group, in_range ? staged : 0);

    float sum[2][32] = {};
    for (int k0 = 0; k0 < depth; k0 += kDepth) {
#pragma unroll 4
      for (int k = thread / kPositions; k < kDepth; k += kThreads / kPositions) {
        const std::int64_t i = in_range && k0 + k < depth ? map.input(column, map.order.at(k0 + k)) : -1;
        xs[k][thread % kPositions] = i < 0 ? 0.0f : to_tf32<kRounding>(x[i]);
      }
      // A warp stages whole cores, 8 filters x 4 terms: 32 neighbouring words.
      const int wk = warp * 4 + t;
      const Tap tap = map.order.at(k0 + wk);
#pragma unroll 4
      for (int m = g; m < kRows; m += 8) {
        const std::int64_t i = k0 + wk < depth ? map.weight(at.group, at.row + m, tap) : -1;
        ws[warp * kCoreColumn + m / 8 * kCore + g * 4 + t] = i < 0 ? 0.0f : to_tf32<kRounding>(w[i]);
      }
      wgmma_shared_ready();
      __syncthreads();
      std::uint32_t a[kDepth / 8][4];
#pragma unroll
      for (int s = 0; s < kDepth / 8; ++s) {
        a[s][0] = __float_as_uint(xs[s * 8 + t][first]);
        a[s][1] = __float_as_uint(xs[s * 8 + t][first + 8]);
        a[s][2] = __float_as_uint(xs[s * 8 + t + 4][first]);
        a[s][3] = __float_as_uint(xs[s * 8 + t + 4][first + 8]);
      }
      wgmma_begin();
#pragma unroll
      for (int s = 0; s < kDepth / 8; ++s)  // steps past the end multiply zeros, which adds nothing
#pragma unroll
        for (int half = 0; half < 2; ++half)
          wgmma_m64n64k8_tf32(sum[half], a[s],
                              wgmma_descriptor(ws + s * 2 * kCoreColumn + half * 8 * kCore,
                                               kCoreColumn * static_cast<int>(sizeof(float)),
                                               kCore * static_cast<int>(sizeof(float))));
      wgmma_end();
      __syncthreads();
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int i = 0; i < 32; ++i) {
        const int row = at.row + half * 64 + i / 4 * 8 + t * 2 + i % 2;
        const std::int64_t p = at.position + first + i % 4 / 2 * 8;
        if (row >= map.rows || p >= map.positions) continue;
        float y = sum[half][i];
        if (bias) y = __fadd_rn(y, bias[static_cast<std::int64_t>(at.group) * map.rows + row]);
        if (y != y && map.padded)
          y = gather_again<Tf32FmaChain<kRounding>>(map, OutputPlace{at.image, at.group, row, p}, x, w, bias);
        out[map.output(at.image, at.group, row, p)] = y;
      }
  }
}

std::string unsupported(const Problem& problem, DType in, DType out, Mode mode) {
  const DeviceInfo& device = device_info();
  if (device.available && (device.cc_major != 9 || device.cc_minor != 0))
    return "wgmma needs compute capability 9.0, this device has " + std::to_string(device.cc_major) + "." +
           std::to_string(device.cc_minor);
  return conv2d_takes_fp32(problem, in, out, mode);
}

const Register variant{
    {
        .name = "tf32_wgmma",
        .summary = "TF32 tensor cores, wgmma m64n64k8, operands rounded RNE",
        .source = "kernels/conv2d/tf32_wgmma.cu",
        .where = Where::cuda,
        .modes = {Mode::tf32},
        .plan = [](const Problem& p,
                   Mode) { return "tf32_rne | block 8 frac 25 rz | order " + conv2d_order(p, 8); },
        .unsupported = unsupported,
        .launch = [](const LaunchArgs& args) -> LaunchNotes {
          const Conv2dMap map = conv2d_map(*args.problem, 8);
          const std::int64_t tiles = tile_count<kRows, kPositions>(map);
          if (tiles == 0) return {"nothing to do", {}, 0};
          const dim3 grid = cuda::blocks_for(args, tiles, 1);
          cuda::launch("tf32_wgmma", tf32_wgmma, grid, kThreads, 0, static_cast<cudaStream_t>(args.stream),
                       map, static_cast<const float*>(args.a), static_cast<const float*>(args.b),
                       static_cast<const float*>(args.bias), static_cast<float*>(args.out), tiles);
          return cuda::shaped_notes("tf32_wgmma", grid, kThreads);
        },
    },
    {"conv1d", "conv2d"}};

}  // namespace
}  // namespace ulpscope
