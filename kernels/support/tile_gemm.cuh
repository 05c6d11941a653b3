#pragma once
// Implicit matrix product in shared-memory tiles: a block owns TM output channels x TN positions and walks
// the terms TK places at a time; a thread keeps RM x RN running sums in registers. What a sum is, and so the
// order and the rounding, is the Sum's business (sums.hpp); which element a place names is the Map's
// (conv2d_map.hpp, conv_transpose1d_map.hpp).
//
// Empty places are staged as (-0)*(+0), which no sum with zero_is_neutral notices. A tap on padding is staged
// as -0 beside a real weight: that could show only as NaN (0*inf) or in the sign of a zero, so outputs that
// are NaN or zero are gathered again without it.
#include "kernels/support/gather.cuh"

namespace ulpscope {

/// A block's piece of the output.
struct TilePlace {
  std::int64_t image;
  int group, row;  // first output channel of the tile
  std::int64_t position;
};

/// Tiles by number: output channels innermost, because blocks that run side by side then share their inputs
/// in L2.
template <int TM, int TN, class Map>
__device__ __forceinline__ TilePlace tile_place(const Map& map, std::int64_t tile) {
  int row, group, column;
  const int columns = static_cast<int>((map.positions + TN - 1) / TN);
  std::int64_t rest = divide(tile, (map.rows + TM - 1) / TM, row);
  rest = divide(rest, columns, column);
  const std::int64_t image = divide(rest, map.groups, group);
  return {image, group, row * TM, static_cast<std::int64_t>(column) * TN};
}

template <int TM, int TN, class Map>
std::int64_t tile_count(const Map& map) {
  return map.images * map.groups * cuda::ceil_div(map.rows, TM) * cuda::ceil_div(map.positions, TN);
}

/// Not inlined: it runs for a handful of outputs, and its registers must not count against the tile loop's.
template <class Sum, class Map, class T>
__device__ __noinline__ float gather_again(const Map& map, OutputPlace at, const T* x, const T* w,
                                           const T* bias) {
  return gather<Sum>(map, at, x, w, bias);
}

template <class Sum, class Map, int TM, int TN, int TK, int RM, int RN>
__global__ void __launch_bounds__((TM / RM) * (TN / RN))
    tile_kernel(const Map map, const float* __restrict__ x, const float* __restrict__ w,
                const float* __restrict__ bias, float* __restrict__ out, std::int64_t tiles) {
  constexpr int kThreads = (TM / RM) * (TN / RN), kColumns = TN / RN;
  static_assert(TK % Sum::period == 0 && kThreads % TN == 0 && kThreads % TK == 0);
  // 4 words of padding: the transposing stores of a warp (8 places x 4 rows) fall into 32 different banks.
  __shared__ __align__(16) float ws[TK][TM + 4];
  __shared__ __align__(16) float xs[TK][TN];
  const int thread = static_cast<int>(threadIdx.x);
  const int tx = thread % kColumns, ty = thread / kColumns;
  const int depth = map.order.depth();

  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const TilePlace at = tile_place<TM, TN>(map, tile);
    // This thread stages one column of the input tile and one place of the weight tile.
    const std::int64_t staged = at.position + thread % TN;
    const bool in_range = staged < map.positions;
    const auto column = map.column(at.image, at.group, in_range ? staged : 0);

    Sum sum[RM][RN];
    for (int k0 = 0; k0 < depth; k0 += TK) {
#pragma unroll
      for (int k = thread / TN; k < TK; k += kThreads / TN) {
        const std::int64_t i = in_range && k0 + k < depth ? map.input(column, map.order.at(k0 + k)) : -1;
        xs[k][thread % TN] = i < 0 ? -0.0f : Sum::operand(x[i]);
      }
      const int wk = thread % TK;
      const Tap tap = map.order.at(k0 + wk);
#pragma unroll
      for (int m = thread / TK; m < TM; m += kThreads / TK) {
        const std::int64_t i = k0 + wk < depth ? map.weight(at.group, at.row + m, tap) : -1;
        ws[wk][m] = i < 0 ? 0.0f : Sum::operand(w[i]);
      }
      __syncthreads();
      const auto accumulate = [&](int k) {
        float xv[RN], wv[RM];
#pragma unroll
        for (int j = 0; j < RN; ++j) xv[j] = xs[k][tx + j * kColumns];
#pragma unroll
        for (int i = 0; i < RM; ++i) wv[i] = ws[k][ty * RM + i];
#pragma unroll
        for (int i = 0; i < RM; ++i)
#pragma unroll
          for (int j = 0; j < RN; ++j) {
            sum[i][j].add(xv[j], wv[i], k);
            sum[i][j].close(k);
          }
      };
      if (Sum::zero_is_neutral || k0 + TK <= depth) {
#pragma unroll
        for (int k = 0; k < TK; ++k) accumulate(k);
      } else {
        for (int k = 0; k < depth - k0; ++k) accumulate(k);
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < RM; ++i) {
      const int row = at.row + ty * RM + i;
      if (row >= map.rows) break;
#pragma unroll
      for (int j = 0; j < RN; ++j) {
        const std::int64_t p = at.position + tx + j * kColumns;
        if (p >= map.positions) break;
        float y = bias ? sum[i][j].with_bias(bias[static_cast<std::int64_t>(at.group) * map.rows + row])
                       : sum[i][j].result();
        if (map.padded && !(y < 0 || y > 0))
          y = gather_again<Sum>(map, OutputPlace{at.image, at.group, row, p}, x, w, bias);
        out[map.output(at.image, at.group, row, p)] = y;
      }
    }
  }
}

/// fp32 tensors in a LaunchArgs -> one launch. A sum to which zeros are not neutral is tiled only where no
/// place is empty, and gathered otherwise: the same bits, more slowly.
template <class Sum, int TM, int TN, int TK, int RM, int RN, class Map>
LaunchNotes launch_tile(const char* name, const Map& map, const LaunchArgs& args) {
  if (!Sum::zero_is_neutral && (map.padded || map.order.channels % map.order.chunk != 0))
    return launch_gather<Sum>(name, map, args);
  const std::int64_t tiles = tile_count<TM, TN>(map);
  if (tiles == 0) return {"nothing to do", {}, 0};
  const dim3 grid = cuda::blocks_for(args, tiles, 1), block = (TM / RM) * (TN / RN);
  cuda::launch(name, tile_kernel<Sum, Map, TM, TN, TK, RM, RN>, grid, block, 0,
               static_cast<cudaStream_t>(args.stream), map, static_cast<const float*>(args.a),
               static_cast<const float*>(args.b), static_cast<const float*>(args.bias),
               static_cast<float*>(args.out), tiles);
  return cuda::shaped_notes(name, grid, block);
}

}  // namespace ulpscope
