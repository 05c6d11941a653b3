#pragma once
// Implicit matrix product on tensor cores: a block owns TM output channels x TN positions, a warp WM x WN of
// them; 16 words of operands are staged at a time, two tensor-core steps. The map's order must come in chunks
// of one step's channels (8 for TF32, 16 for 16-bit numbers), so that a step never straddles two taps and the
// plan can name it.
//
// Missing taps are staged as zeros. Beside an infinite or NaN weight that gives NaN, so outputs that are NaN
// although they may lack taps are computed again with FMA on the rounded operands, as are those where three
// passes made inf-inf.
#include "kernels/support/mma.cuh"
#include "kernels/support/numbers.cuh"
#include "kernels/support/tile_gemm.cuh"

namespace ulpscope {

template <class Op, class In, class Out, class Map, int TM, int TN, int WM, int WN>
__global__ void __launch_bounds__((TM / WM) * (TN / WN) * 32)
    mma_kernel(const Map map, const In* __restrict__ x, const In* __restrict__ w, const In* __restrict__ bias,
               Out* __restrict__ out, std::int64_t tiles) {
  constexpr int kThreads = (TM / WM) * (TN / WN) * 32, kWords = 16, E = Op::elements, P = Op::planes;
  constexpr int kRowSteps = WM / 16, kColumnSteps = WN / 8;
  static_assert(kThreads % TN == 0 && kThreads % kWords == 0);
  // Row lengths of 20 and TN + 8 words put the 32 words of a fragment load into 32 different banks.
  __shared__ std::uint32_t ws[P][TM][kWords + 4];
  __shared__ std::uint32_t xs[P][kWords][TN + 8];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
  const int warp_row = warp / (TN / WN) * WM, warp_column = warp % (TN / WN) * WN;
  const int depth = map.order.depth();

  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const TilePlace at = tile_place<TM, TN>(map, tile);
    const std::int64_t staged = at.position + thread % TN;
    const bool in_range = staged < map.positions;
    const auto column = map.column(at.image, at.group, in_range ? staged : 0);

    Op sum[kRowSteps][kColumnSteps];
    for (int k0 = 0; k0 < depth; k0 += kWords * E) {
#pragma unroll
      for (int j = thread / TN; j < kWords; j += kThreads / TN) {
        float v[E];
        std::uint32_t word[P];
#pragma unroll
        for (int e = 0; e < E; ++e) {
          const int k = k0 + j * E + e;
          const std::int64_t i = in_range && k < depth ? map.input(column, map.order.at(k)) : -1;
          v[e] = i < 0 ? 0.0f : cuda::to_float(x[i]);
        }
        Op::pack(v, word);
#pragma unroll
        for (int p = 0; p < P; ++p) xs[p][j][thread % TN] = word[p];
      }
      const int wj = thread % kWords;
      Tap taps[E];
#pragma unroll
      for (int e = 0; e < E; ++e) taps[e] = map.order.at(k0 + wj * E + e);
#pragma unroll
      for (int m = thread / kWords; m < TM; m += kThreads / kWords) {
        float v[E];
        std::uint32_t word[P];
#pragma unroll
        for (int e = 0; e < E; ++e) {
          const std::int64_t i =
              k0 + wj * E + e < depth ? map.weight(at.group, at.row + m, taps[e]) : std::int64_t{-1};
          v[e] = i < 0 ? 0.0f : cuda::to_float(w[i]);
        }
        Op::pack(v, word);
#pragma unroll
        for (int p = 0; p < P; ++p) ws[p][m][wj] = word[p];
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kWords; k += 8) {
        if (k0 + k * E >= depth) break;  // past the end: nothing was staged but zeros
        std::uint32_t b[kColumnSteps][P][2];
#pragma unroll
        for (int n = 0; n < kColumnSteps; ++n)
#pragma unroll
          for (int p = 0; p < P; ++p) {
            b[n][p][0] = xs[p][k + t][warp_column + n * 8 + g];
            b[n][p][1] = xs[p][k + t + 4][warp_column + n * 8 + g];
          }
#pragma unroll
        for (int m = 0; m < kRowSteps; ++m) {
          std::uint32_t a[P][4];
#pragma unroll
          for (int p = 0; p < P; ++p) {
            const int row = warp_row + m * 16 + g;
            a[p][0] = ws[p][row][k + t];
            a[p][1] = ws[p][row + 8][k + t];
            a[p][2] = ws[p][row][k + t + 4];
            a[p][3] = ws[p][row + 8][k + t + 4];
          }
#pragma unroll
          for (int n = 0; n < kColumnSteps; ++n) sum[m][n].step(a, b[n]);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < kRowSteps; ++m)
#pragma unroll
      for (int n = 0; n < kColumnSteps; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = at.row + warp_row + m * 16 + g + i / 2 * 8;
          const std::int64_t p = at.position + warp_column + n * 8 + t * 2 + i % 2;
          if (row >= map.rows || p >= map.positions) continue;
          float y = sum[m][n].value(i);
          if (bias)
            y = __fadd_rn(y, cuda::to_float(bias[static_cast<std::int64_t>(at.group) * map.rows + row]));
          if (y != y && (map.padded || P > 1))
            y = gather_again<typename Op::Fallback>(map, OutputPlace{at.image, at.group, row, p}, x, w, bias);
          out[map.output(at.image, at.group, row, p)] = cuda::round_to<Out>(y);
        }
  }
}

template <class Op, int TM, int TN, int WM, int WN, class In, class Out, class Map>
LaunchNotes launch_mma_types(const char* name, const Map& map, const LaunchArgs& args) {
  const std::int64_t tiles = tile_count<TM, TN>(map);
  if (tiles == 0) return {"nothing to do", {}, 0};
  const dim3 grid = cuda::blocks_for(args, tiles, 1), block = (TM / WM) * (TN / WN) * 32;
  cuda::launch(name, mma_kernel<Op, In, Out, Map, TM, TN, WM, WN>, grid, block, 0,
               static_cast<cudaStream_t>(args.stream), map, static_cast<const In*>(args.a),
               static_cast<const In*>(args.b), static_cast<const In*>(args.bias), static_cast<Out*>(args.out),
               tiles);
  return cuda::shaped_notes(name, grid, block);
}

/// fp32 tensors in, fp32 out.
template <class Op, int TM, int TN, int WM, int WN, class Map>
LaunchNotes launch_mma(const char* name, const Map& map, const LaunchArgs& args) {
  return launch_mma_types<Op, TM, TN, WM, WN, float, float>(name, map, args);
}

/// fp32 tensors (rounded in the kernel) or Narrow ones in; fp32 or Narrow out.
template <class Op, class Narrow, int TM, int TN, int WM, int WN, class Map>
LaunchNotes launch_mma_16(const char* name, const Map& map, const LaunchArgs& args) {
  const bool in32 = args.in_dtype == DType::f32, out32 = args.out_dtype == DType::f32;
  if (in32 && out32) return launch_mma_types<Op, TM, TN, WM, WN, float, float>(name, map, args);
  if (in32) return launch_mma_types<Op, TM, TN, WM, WN, float, Narrow>(name, map, args);
  if (out32) return launch_mma_types<Op, TM, TN, WM, WN, Narrow, float>(name, map, args);
  return launch_mma_types<Op, TM, TN, WM, WN, Narrow, Narrow>(name, map, args);
}

}  // namespace ulpscope
