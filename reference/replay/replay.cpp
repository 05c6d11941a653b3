// replay(): plan -> bits, for any contraction.
#include <algorithm>
#include <cmath>
#include <set>

#include "reference/arithmetic/scalar.hpp"
#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reference/plan.hpp"
#include "reference/replay/by_tile.hpp"
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

// Further from the exact sum of the parts than rounded additions in any order can end: settles most questions
// without trying the orders, of which there may be many thousands. The last steps keep the order of numbers.
bool out_of_reach(const Plan& plan, const Contraction& c, const std::vector<double>& parts, double bias,
                  std::uint32_t bits) {
  double sum = 0, magnitude = 0;
  for (const double p : parts) {
    sum += p;
    magnitude += std::fabs(p);
  }
  const DType format = plan.levels[0].in.value_or(plan.arithmetic.accumulator);
  const double reach =
      4 * static_cast<double>(parts.size()) * std::ldexp(magnitude, -info(format).precision) +
      ulp_at(format, 0);
  const DType out = output_format(plan);
  const double one = value_of_bits(out, finish(plan, c, sum - reach, bias)),
               other = value_of_bits(out, finish(plan, c, sum + reach, bias));
  if (!std::isfinite(one) || !std::isfinite(other)) return false;  // overflow on the way: the orders decide
  const double seen = value_of_bits(out, bits);
  return !(seen >= std::min(one, other) && seen <= std::max(one, other));
}

}  // namespace

void replay(const Plan& plan, const Contraction& c, const Operands& operands, std::int64_t begin,
            std::int64_t count, std::uint32_t* out, int threads) {
  if (begin < 0 || count < 0 || begin > c.outputs() - count)
    throw Error("replay: outputs [" + std::to_string(begin) + ", " + std::to_string(begin + count) + ") of " +
                std::to_string(c.outputs()) + ": choose a range that exists");
  if (is_unordered(plan))
    throw Error("replay: '" + to_string(plan) +
                "' leaves the order open, so it predicts no bits: use its bound, or reachable()");
  if (count == 0) return;
  if (has_tiles(plan)) return replay_by_tile(plan, c, operands, begin, count, out, threads);
  const Program program = compile(plan, reduction_axes(c));
  const Engine engine = engine_for(plan);
  if (engine == Engine::scalar)
    return replay_one_by_one(plan, program, c, operands, begin, count, out, threads);
  const ChunkedProgram chunked(program, c);
  const TileGrid grid(c, begin, count, tile_shape_for(program, engine));
  for_each_tile(grid, threads, [&] { return TileReplay(plan, chunked, grid, operands, out); });
}

bool reachable(const Plan& plan, const Contraction& c, const Operands& operands, std::int64_t o,
               std::uint32_t bits, const std::function<bool()>& give_up) {
  if (plan.levels.empty() || plan.levels[0].join != Join::unordered)
    throw Error("reachable: the outermost partial sums of '" + to_string(plan) + "' are not unordered");
  Plan inner = plan;
  inner.levels.erase(inner.levels.begin());
  if (has_tiles(plan)) throw Error("reachable: tiles are not searched for orders");
  if (is_unordered(inner)) throw Error("reachable: only the outermost partial sums may be unordered");
  const Program program = compile(plan, reduction_axes(c));
  ScalarReplay scalar(plan, program, c, operands);
  scalar(o);
  const std::vector<double>& parts = scalar.unordered_parts();
  constexpr std::size_t kMostParts = 16;
  if (parts.size() > kMostParts) throw Error("reachable: more than 16 partial sums have too many orders");
  const double bias = c.has_bias ? operands.bias.at(bias_index(c, o)) : 0;
  if (parts.empty()) return scalar(o) == bits;
  if (out_of_reach(plan, c, parts, bias, bits)) return false;
  // Sums that some order of each subset gives, the subset being a bit mask.
  const DType format = plan.levels[0].in.value_or(plan.arithmetic.accumulator);
  std::vector<std::set<double>> sums(std::size_t{1} << parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) sums[std::size_t{1} << i] = {parts[i]};
  for (std::size_t mask = 1; mask < sums.size(); ++mask) {
    if (give_up && give_up()) return false;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!(mask >> i & 1))
        for (const double sum : sums[mask])
          sums[mask | std::size_t{1} << i].insert(add_in(format, sum, parts[i]));
  }
  return std::any_of(sums.back().begin(), sums.back().end(),
                     [&](double sum) { return finish(plan, c, sum, bias) == bits; });
}

}  // namespace ulpscope
