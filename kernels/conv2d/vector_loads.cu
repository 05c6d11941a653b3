// Vectorised loads: the register tile 128x128x8 with four neighbouring positions, or four terms of a filter,
// in one 16-byte load, and 16-byte stores. Order: one chain over channels, then taps; how data travel changes
// nothing. Promise: fp32 FMA, bit for bit the naive kernel. Cost: a quarter of the memory instructions of
// register_128x128x8 for 1x1 convolutions whose planes are a multiple of 4 elements; anything else loads one
// by one.
#include "kernels/conv2d/conv2d_map.hpp"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {
namespace {

constexpr int kTile = 128, kDepth = 8, kThreads = 256;

struct Vectors {
  bool input, weight;  // 16-byte loads are possible: contiguous, aligned, and no tail inside four elements
};

__device__ __forceinline__ float4 load4(const float* p) {
  return *reinterpret_cast<const float4*>(p);
}

__device__ __forceinline__ float4 input4(const Conv2dMap& map, const TilePlace& at, const float* x, int k,
                                         std::int64_t p, bool vectors) {
  float v[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
  if (k >= map.order.depth() || p >= map.positions) return {v[0], v[1], v[2], v[3]};
  const Tap tap = map.order.at(k);
  if (vectors) return load4(x + map.input(map.column(at.image, at.group, p), tap));
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (p + e >= map.positions) break;
    const std::int64_t i = map.input(map.column(at.image, at.group, p + e), tap);
    if (i >= 0) v[e] = x[i];
  }
  return {v[0], v[1], v[2], v[3]};
}

__device__ __forceinline__ float4 weight4(const Conv2dMap& map, const TilePlace& at, const float* w, int k,
                                          int row, bool vectors) {
  float v[4] = {};
  if (row >= map.rows || k >= map.order.depth()) return {v[0], v[1], v[2], v[3]};
  // Terms in canonical order are contiguous in a filter.
  const float* filter = w + (static_cast<std::int64_t>(at.group) * map.rows + row) * map.order.depth() + k;
  if (vectors) return load4(filter);
#pragma unroll
  for (int e = 0; e < 4; ++e)
    if (k + e < map.order.depth()) v[e] = filter[e];
  return {v[0], v[1], v[2], v[3]};
}

__global__ void __launch_bounds__(kThreads)
    vector_loads(const Conv2dMap map, Vectors vectors, const float* __restrict__ x,
                 const float* __restrict__ w, const float* __restrict__ bias, float* __restrict__ out,
                 std::int64_t tiles) {
  __shared__ __align__(16) float ws[kDepth][kTile + 4];
  __shared__ __align__(16) float xs[kDepth][kTile];
  const int thread = static_cast<int>(threadIdx.x), tx = thread % 16, ty = thread / 16;
  const int depth = map.order.depth();

  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const TilePlace at = tile_place<kTile, kTile>(map, tile);
    FmaChain sum[8][8];
    for (int k0 = 0; k0 < depth; k0 += kDepth) {
      // 256 threads x 4 elements are exactly one tile of each operand.
      const int xk = thread / 32, xp = thread % 32 * 4;
      *reinterpret_cast<float4*>(&xs[xk][xp]) = input4(map, at, x, k0 + xk, at.position + xp, vectors.input);
      const int wrow = thread / 2, wk = thread % 2 * 4;
      const float4 v = weight4(map, at, w, k0 + wk, at.row + wrow, vectors.weight);
      ws[wk][wrow] = v.x, ws[wk + 1][wrow] = v.y, ws[wk + 2][wrow] = v.z, ws[wk + 3][wrow] = v.w;
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        float xv[8], wv[8];
#pragma unroll
        for (int half = 0; half < 2; ++half) {  // positions 4*tx.. and 64 + 4*tx..: a warp reads whole rows
          const float4 q = load4(&xs[k][half * 64 + tx * 4]);
          xv[half * 4] = q.x, xv[half * 4 + 1] = q.y, xv[half * 4 + 2] = q.z, xv[half * 4 + 3] = q.w;
          const float4 r = load4(&ws[k][ty * 8 + half * 4]);
          wv[half * 4] = r.x, wv[half * 4 + 1] = r.y, wv[half * 4 + 2] = r.z, wv[half * 4 + 3] = r.w;
        }
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
          for (int j = 0; j < 8; ++j) sum[i][j].add(xv[j], wv[i], k);
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int row = at.row + ty * 8 + i;
      if (row >= map.rows) break;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::int64_t p = at.position + half * 64 + tx * 4;
        float y[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const FmaChain& s = sum[i][half * 4 + e];
          y[e] = bias ? s.with_bias(bias[static_cast<std::int64_t>(at.group) * map.rows + row]) : s.result();
          if (map.padded && p + e < map.positions && !(y[e] < 0 || y[e] > 0))
            y[e] = gather_again<FmaChain>(map, OutputPlace{at.image, at.group, row, p + e}, x, w, bias);
        }
        float* target = out + map.output(at.image, at.group, row, p);
        if (vectors.input && p < map.positions) {
          *reinterpret_cast<float4*>(target) = {y[0], y[1], y[2], y[3]};
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e)
            if (p + e < map.positions) target[e] = y[e];
        }
      }
    }
  }
}

bool aligned(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
}

const Register variant{
    {
        .name = "vector_loads",
        .summary = "register tile 128x128x8 with 16-byte loads and stores, one fp32 FMA chain",
        .source = "kernels/conv2d/vector_loads.cu",
        .where = Where::cuda,
        .plan = [](const Problem& p, Mode) { return "fp32 | fma | order " + conv2d_order(p); },
        .unsupported = conv2d_takes_fp32,
        .launch = [](const LaunchArgs& args) -> LaunchNotes {
          const Conv2dMap map = conv2d_map(*args.problem);
          const std::int64_t tiles = tile_count<kTile, kTile>(map);
          if (tiles == 0) return {"nothing to do", {}, 0};
          const Vectors vectors{
              map.pointwise && map.positions % 4 == 0 && aligned(args.a) && aligned(args.out),
              map.order.depth() % 4 == 0 && aligned(args.b)};
          const dim3 grid = cuda::blocks_for(args, tiles, 1);
          cuda::launch("vector_loads", vector_loads, grid, kThreads, 0,
                       static_cast<cudaStream_t>(args.stream), map, vectors,
                       static_cast<const float*>(args.a), static_cast<const float*>(args.b),
                       static_cast<const float*>(args.bias), static_cast<float*>(args.out), tiles);
          return cuda::shaped_notes("vector_loads", grid, kThreads,
                                    vectors.input ? "16-byte input loads" : "4-byte input loads");
        },
    },
    {"conv1d", "conv2d"}};

}  // namespace
}  // namespace ulpscope
