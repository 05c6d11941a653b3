#include "reference/exact.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "reference/error.hpp"
#include "reference/exact/worker.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kPartialBytes = std::int64_t{128} << 20;  // of long sums' segments held at a time
constexpr std::int64_t kPastCaches = 1 << 20;                    // outputs whose results exceed any cache
constexpr std::int64_t kScatterBlock = 512;                      // outputs settled one by one per task

bool needs_doubles(const Contraction& c, const Operands& operands, DType out) {
  return out == DType::f64 || operands.a.dtype == DType::f64 ||
         (!c.b_is_ones && operands.b.dtype == DType::f64) ||
         (c.has_bias && operands.bias.dtype == DType::f64);
}

void check_range(const Contraction& c, std::int64_t begin, std::int64_t count) {
  if (begin < 0 || count < 0 || begin > c.outputs() - count)
    throw Error("outputs from " + std::to_string(begin) + " on, " + std::to_string(count) +
                " of them, are not all among the problem's " + std::to_string(c.outputs()));
}

// Outputs settled one by one: fp64 data, whose products do not fit a double, and scattered outputs.
template <class Index>
ExactTally one_by_one(const Contraction& c, const Operands& operands, const ExactOptions& options,
                      std::int64_t count, Index&& index, const ExactOut& out) {
  ExactTally tally;
  std::mutex guard;
  parallel_for((count + kScatterBlock - 1) / kScatterBlock, options.threads, [&](std::int64_t block) {
    Decider decider(c, operands, options.out);
    ExactTally mine;
    const std::int64_t end = std::min(count, (block + 1) * kScatterBlock);
    for (std::int64_t i = block * kScatterBlock; i < end; ++i) {
      const Decision d = decider.decide(index(i));
      if (out.value) out.value[i] = d.value;
      if (out.magnitude) out.magnitude[i] = d.magnitude;
      if (out.rounded && options.out != DType::f64) out.rounded[i] = static_cast<std::uint32_t>(d.rounded);
      add_rule(mine, d.rule);
    }
    std::lock_guard lock(guard);
    tally += mine;
  });
  return tally;
}

void check_operands(const Contraction& c, const Operands& operands) {
  TilePacker(TileGrid(c, 0, 0), operands);  // throws
}

// Sums of several segments: the segments of a group of tiles are spread over the threads, then joined in
// order.
ExactTally long_sums(const TileGrid& grid, const Operands& operands, const ExactOptions& options,
                     const SumTree& tree, const ExactWorker::Visit& visit) {
  ExactTally tally;
  std::mutex guard;
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < grid.tiles(); ++i)
    largest = std::max(largest, ExactWorker::padded_outputs(grid.tile(i)));
  const std::int64_t tile_doubles = tree.segments * largest;
  const std::int64_t group = std::clamp<std::int64_t>(kPartialBytes / (16 * tile_doubles), 1, grid.tiles());
  const std::unique_ptr<double[]> sums(new double[static_cast<std::size_t>(2 * group * tile_doubles)]);
  double* const magnitudes = sums.get() + group * tile_doubles;
  for (std::int64_t first = 0; first < grid.tiles(); first += group) {
    const std::int64_t tiles = std::min(group, grid.tiles() - first);
    auto spread = [&](std::int64_t tasks, auto&& task) {  // one worker per thread
      std::atomic<std::int64_t> next{0};
      const int threads = options.threads > 0 ? options.threads : hardware_threads();
      parallel_for(std::min<std::int64_t>(tasks, threads), threads, [&](std::int64_t) {
        ExactWorker worker(grid, operands, options, tree, visit);
        for (std::int64_t i = next++; i < tasks; i = next++) task(worker, i);
        std::lock_guard lock(guard);
        tally += worker.tally();
      });
    };
    spread(tiles * tree.segments, [&](ExactWorker& worker, std::int64_t i) {
      const Tile tile = grid.tile(first + i / tree.segments);
      const std::int64_t s = i % tree.segments;
      const std::int64_t at = i / tree.segments * tile_doubles + s * ExactWorker::padded_outputs(tile);
      worker.segment(tile, s, sums.get() + at, magnitudes + at);
    });
    spread(tiles, [&](ExactWorker& worker, std::int64_t i) {
      worker.settle_segments(grid.tile(first + i), sums.get() + i * tile_doubles,
                             magnitudes + i * tile_doubles);
    });
  }
  return tally;
}

}  // namespace

ExactTally& ExactTally::operator+=(const ExactTally& o) {
  certified += o.certified;
  exact_sum += o.exact_sum;
  compensated += o.compensated;
  mpfr += o.mpfr;
  special += o.special;
  return *this;
}

ExactTally exact_rows(const Contraction& c, const Operands& operands, const ExactOptions& options,
                      std::int64_t begin, std::int64_t count,
                      const std::function<void(const ExactRow&)>& visit) {
  check_range(c, begin, count);
  check_operands(c, operands);
  ExactTally tally;
  if (count == 0) return tally;
  if (needs_doubles(c, operands, options.out)) {
    constexpr std::int64_t kRun = 1 << 20;
    std::vector<double> value(static_cast<std::size_t>(std::min(count, kRun))), magnitude(value.size());
    std::vector<std::uint32_t> rounded(value.size());
    for (std::int64_t first = 0; first < count; first += kRun) {
      const std::int64_t run = std::min(kRun, count - first);
      tally += one_by_one(c, operands, options, run, [&](std::int64_t i) { return begin + first + i; },
                          {value.data(), magnitude.data(), rounded.data()});
      visit({begin + first, run, value.data(), magnitude.data(),
             options.out == DType::f64 ? nullptr : rounded.data()});
    }
    return tally;
  }
  const SumTree tree = sum_tree(c);
  const TileGrid grid(c, begin, count, exact_tile_shape(tree));
  if (tree.segments > 1) return long_sums(grid, operands, options, tree, visit);
  std::mutex guard;
  struct Counted {  // adds its tally when its thread is done
    std::unique_ptr<ExactWorker> worker;
    ExactTally* total;
    std::mutex* guard;
    Counted(Counted&&) = default;
    Counted(std::unique_ptr<ExactWorker> w, ExactTally* t, std::mutex* g)
        : worker(std::move(w)), total(t), guard(g) {}
    ~Counted() {
      if (!worker) return;
      std::lock_guard lock(*guard);
      *total += worker->tally();
    }
    void operator()(const Tile& tile) { worker->whole(tile); }
  };
  for_each_tile(grid, options.threads, [&] {
    return Counted(std::make_unique<ExactWorker>(grid, operands, options, tree, visit), &tally, &guard);
  });
  return tally;
}

ExactTally exact(const Contraction& c, const Operands& operands, const ExactOptions& options,
                 std::int64_t begin, std::int64_t count, const ExactOut& out) {
  const bool large = count >= kPastCaches;
  auto copy = [&](void* to, const void* from, std::size_t bytes) {
    if (!large)
      std::memcpy(to, from, bytes);
    else if (options.level == SimdLevel::v3)
      simd_v3::copy_past_caches(to, from, bytes);
    else
      simd_base::copy_past_caches(to, from, bytes);
  };
  return exact_rows(c, operands, options, begin, count, [&](const ExactRow& row) {
    const std::int64_t at = row.index - begin;
    const auto n = static_cast<std::size_t>(row.count);
    if (out.value) copy(out.value + at, row.value, n * sizeof(double));
    if (out.magnitude) copy(out.magnitude + at, row.magnitude, n * sizeof(double));
    if (out.rounded && row.rounded) copy(out.rounded + at, row.rounded, n * sizeof(std::uint32_t));
  });
}

ExactTally exact_at(const Contraction& c, const Operands& operands, const ExactOptions& options,
                    std::span<const std::int64_t> indices, const ExactOut& out) {
  check_operands(c, operands);
  for (const std::int64_t o : indices) check_range(c, o, 1);
  return one_by_one(
      c, operands, options, static_cast<std::int64_t>(indices.size()),
      [&](std::int64_t i) { return indices[static_cast<std::size_t>(i)]; }, out);
}

}  // namespace ulpscope
