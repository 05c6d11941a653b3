#pragma once
// What every kernel file includes: 64-bit thread numbering, grids that fit any size, checked launches.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "kernels/support/device.hpp"
#include "kernels/support/registry.hpp"
#include "reference/error.hpp"

namespace ulpscope::cuda {

/// Number of this thread in a one-dimensional grid, and the grid's size: both 64-bit, for grid-stride loops
///   for (int64_t i = global_thread(); i < n; i += grid_threads()) ...
__device__ inline std::int64_t global_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t grid_threads() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t d) {
  return (n + d - 1) / d;
}

/// Blocks for `n` work items in a grid-stride loop. Capped: 2^20 blocks fill any chip, and the loop does the
/// rest.
inline unsigned blocks_for(std::int64_t n, int threads) {
  const std::int64_t blocks = ceil_div(n, threads);
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > (1 << 20) ? (1 << 20) : blocks);
}

/// The same for a kernel that covers its work whatever the grid: no more blocks than the launch asks for.
inline unsigned blocks_for(const LaunchArgs& args, std::int64_t n, int threads) {
  const unsigned blocks = blocks_for(n, threads), most = static_cast<unsigned>(args.shape.blocks);
  return most > 0 && most < blocks ? most : blocks;
}

/// Threads a block for a kernel whose threads work apart, or warp by warp: `own`, which is also the most it
/// was compiled for, or fewer whole warps where the launch asks for them.
inline int threads_for(const LaunchArgs& args, int own) {
  const int asked = args.shape.block / 32 * 32;
  return asked >= 32 && asked < own ? asked : own;
}

/// Grids are limited to 2^31-1 blocks in x and 65535 in y and z: throws Error naming the kernel beyond that.
inline dim3 grid_of(const char* kernel, std::int64_t x, std::int64_t y = 1, std::int64_t z = 1) {
  if (x > 0x7fffffff || y > 65535 || z > 65535 || x < 1 || y < 1 || z < 1)
    throw Error(std::string(kernel) + " would need a grid of " + std::to_string(x) + "x" + std::to_string(y) +
                "x" + std::to_string(z) + " blocks, more than a launch allows: choose a smaller case");
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
}

/// Launches and checks. Dynamic shared memory above the default 48 KiB is asked for first.
template <class... Params, class... Args>
void launch(const char* name, void (*kernel)(Params...), dim3 grid, dim3 block, std::size_t shared,
            cudaStream_t stream, const Args&... args) {
  if (shared > 48 * 1024)
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
          name);
  kernel<<<grid, block, shared, stream>>>(static_cast<Params>(args)...);
  check_launch(name);
}

/// "grid 16x8x1 block 256 smem 4096": for LaunchNotes::engine.
inline std::string describe_launch(dim3 grid, dim3 block, std::size_t shared = 0) {
  auto text = [](dim3 d) {
    return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
  };
  return "grid " + text(grid) + " block " + text(block) + " smem " + std::to_string(shared);
}

/// Notes of one launch whose grid, and perhaps block, could be chosen; `more` stands behind the launch.
inline LaunchNotes shaped_notes(const char* name, dim3 grid, dim3 block, std::string more = "") {
  LaunchNotes notes{name, {describe_launch(grid, block)}, 0};
  notes.shape = notes.notes.front();
  if (!more.empty()) notes.notes.push_back(std::move(more));
  return notes;
}

}  // namespace ulpscope::cuda
