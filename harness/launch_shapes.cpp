#include "harness/launch_shapes.hpp"

namespace ulpscope {

// Launch shapes worth a try. Grids are small, so that loops over blocks go round; a library's workspace is
// CUBLAS_WORKSPACE_CONFIG's :16:8, or what frameworks give before Hopper; its multiprocessors a slice of a
// device.
std::vector<Telling> launch_shapes(const Variant& variant) {
  auto shape = [](int block, int blocks) {
    LaunchShape s;
    s.block = block;
    s.blocks = blocks;
    return s;
  };
  if (variant.where == Where::host)
    return {
        {"rows of 5", shape(5, 0)}, {"rows of 64", shape(64, 0)}, {"1 thread", {}, 1}, {"3 threads", {}, 3}};
  if (!variant.vendor)
    return {
        {"32 threads a block", shape(32, 0)}, {"3 blocks", shape(0, 3)}, {"7 blocks of 128", shape(128, 7)}};
  LaunchShape small, medium, few;
  small.workspace_bytes = 8 * (16 << 10);
  medium.workspace_bytes = 8 << 20;
  few.multiprocessors = 16;
  return {{"workspace 128 KiB", small}, {"workspace 8 MiB", medium}, {"16 multiprocessors", few}};
}

}  // namespace ulpscope
