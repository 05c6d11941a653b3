#include "reference/replay/by_tile.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "reference/parallel.hpp"
#include "reference/plan/pixel_tiles.hpp"
#include "reference/replay/tile_replay.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kStretch = 4096;   // outputs a thread takes at a time
constexpr std::int64_t kShortest = 16;    // a run that is worth packing
constexpr std::size_t kMostKept = 20000;  // programs: an image has few ways to share tiles

struct Shared {
  Program program;
  std::optional<ChunkedProgram> chunked;
};

class Programs {
 public:
  Programs(const Plan& plan, const Contraction& c)
      : plan_(plan),
        c_(c),
        tiles_(c, plan.levels[0].count),
        slots_(lay_out(plan.order, reduction_axes(c), plan.operands.pass_count())),
        bulk_(engine_for(plan) != Engine::scalar) {}

  const PixelTiles& tiles() const { return tiles_; }
  bool bulk() const { return bulk_; }

  std::shared_ptr<const Shared> of(const std::vector<int>& by_tap) {
    const std::lock_guard lock(guard_);
    std::shared_ptr<Shared>& kept = kept_[by_tap];
    if (kept) return kept;
    if (kept_.size() > kMostKept) {
      kept_.clear();
      return make(by_tap);
    }
    return kept = make(by_tap);
  }

 private:
  std::shared_ptr<Shared> make(const std::vector<int>& by_tap) const {
    auto made = std::make_shared<Shared>();
    made->program = compile(plan_, slots_, tiles_.by_term(by_tap));
    if (bulk_) made->chunked.emplace(made->program, c_);
    return made;
  }

  const Plan& plan_;
  const Contraction& c_;
  const PixelTiles tiles_;
  const Slots slots_;
  const bool bulk_;
  std::mutex guard_;
  std::map<std::vector<int>, std::shared_ptr<Shared>> kept_;
};

}  // namespace

void replay_by_tile(const Plan& plan, const Contraction& c, const Operands& operands, std::int64_t begin,
                    std::int64_t count, std::uint32_t* out, int threads) {
  Programs programs(plan, c);
  parallel_for((count + kStretch - 1) / kStretch, threads, [&](std::int64_t stretch) {
    const std::int64_t end = std::min(count, (stretch + 1) * kStretch);
    std::vector<int> here, next;
    programs.tiles().ranks(begin + stretch * kStretch, here);
    for (std::int64_t from = stretch * kStretch; from < end;) {
      std::int64_t to = from + 1;
      for (; to < end; ++to) {
        programs.tiles().ranks(begin + to, next);
        if (next != here) break;
      }
      const std::shared_ptr<const Shared> shared = programs.of(here);
      if (programs.bulk() && to - from >= kShortest) {
        const TileGrid grid(c, begin + from, to - from, tile_shape_for(shared->program, engine_for(plan)));
        TileReplay replay(plan, *shared->chunked, grid, operands, out + from);
        for (std::int64_t i = 0; i < grid.tiles(); ++i) replay(grid.tile(i));
      } else {
        ScalarReplay replay(plan, shared->program, c, operands);
        for (std::int64_t i = from; i < to; ++i) out[i] = replay(begin + i);
      }
      from = to;
      std::swap(here, next);
    }
  });
}

}  // namespace ulpscope
