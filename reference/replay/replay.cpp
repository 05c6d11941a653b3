// replay(): plan -> bits, for any contraction.
#include <algorithm>

#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reference/plan.hpp"
#include "reference/replay/tile_replay.hpp"

namespace ulpscope {
namespace {

void replay_one_by_one(const Plan& plan, const Program& program, const Contraction& c,
                       const Operands& operands, std::int64_t begin, std::int64_t count, std::uint32_t* out,
                       int threads) {
  constexpr std::int64_t kRun = 256;
  parallel_for((count + kRun - 1) / kRun, threads, [&](std::int64_t run) {
    ScalarReplay scalar(plan, program, c, operands);
    for (std::int64_t i = run * kRun; i < std::min(count, (run + 1) * kRun); ++i) out[i] = scalar(begin + i);
  });
}

}  // namespace

void replay(const Plan& plan, const Contraction& c, const Operands& operands, std::int64_t begin,
            std::int64_t count, std::uint32_t* out, int threads) {
  if (begin < 0 || count < 0 || begin > c.outputs() - count)
    throw Error("replay: outputs [" + std::to_string(begin) + ", " + std::to_string(begin + count) + ") of " +
                std::to_string(c.outputs()) + ": choose a range that exists");
  if (count == 0) return;
  const Program program = compile(plan, reduction_axes(c));
  const Engine engine = engine_for(plan);
  if (engine == Engine::scalar)
    return replay_one_by_one(plan, program, c, operands, begin, count, out, threads);
  const ChunkedProgram chunked(program, c);
  const TileGrid grid(c, begin, count, tile_shape_for(program, engine));
  for_each_tile(grid, threads, [&] { return TileReplay(plan, chunked, grid, operands, out); });
}

}  // namespace ulpscope
