#include "harness/run_slabs.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "harness/stream_hash.hpp"
#include "reference/exact.hpp"
#include "reference/parallel.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kSlabOutputs = std::int64_t{1} << 22;
constexpr std::int64_t kCopyBytes = std::int64_t{96} << 20;  // per slot: all candidates' parts of a slab
constexpr std::int64_t kPiece = 1 << 16;                     // outputs a thread measures at a time

std::int64_t slab_outputs(std::size_t candidates, DType out) {
  const auto n = static_cast<std::int64_t>(std::max<std::size_t>(1, candidates));
  return std::clamp<std::int64_t>(kCopyBytes / (n * size_of(out)), 1 << 14, kSlabOutputs);
}

/// A stretch of one row of a slab: where it lies in the slab and in the whole.
struct Piece {
  std::int64_t in_slab, in_output, count;
};
std::vector<Piece> pieces_of(const Strip& s) {
  std::vector<Piece> pieces;
  for (std::int64_t row = 0; row < s.rows; ++row)
    for (std::int64_t at = 0; at < s.row_length; at += kPiece)
      pieces.push_back(
          {row * s.row_length + at, s.begin + row * s.row_stride + at, std::min(kPiece, s.row_length - at)});
  return pieces;
}

/// How many outputs in a run have the predicted bits.
std::int64_t count_equal(const void* candidate, DType type, const std::uint32_t* predicted, std::int64_t n) {
  std::int64_t equal = 0;
  if (type == DType::f32) {
    const auto* bits = static_cast<const std::uint32_t*>(candidate);
    for (std::int64_t i = 0; i < n; ++i) equal += bits[i] == predicted[i];
  } else {
    const auto* bits = static_cast<const std::uint16_t*>(candidate);
    for (std::int64_t i = 0; i < n; ++i) equal += bits[i] == predicted[i];
  }
  return equal;
}

/// The distinct plans of a batch, each replayed once per slab for all candidates that declare it.
struct Replays {
  struct One {
    std::shared_ptr<const Plan> plan;
    std::vector<std::uint32_t> bits;
  };
  std::vector<One> plans;
  std::vector<int> of_candidate;  // index into plans; -1: none
  std::size_t every = 1;          // replay each that many slabs

  Replays(const std::vector<Candidate>& candidates, const Contraction& c, const SlabOptions& options) {
    std::map<std::string, int> known;
    for (const Candidate& k : candidates) {
      of_candidate.push_back(-1);
      if (!k.plan || options.replay_budget <= 0 || !predicts_bits(*k.plan, options.out)) continue;
      const auto [at, added] = known.emplace(to_string(*k.plan), static_cast<int>(plans.size()));
      if (added) plans.push_back({k.plan, {}});
      of_candidate.back() = at->second;
    }
    const double products =
        static_cast<double>(plans.size()) * static_cast<double>(c.outputs()) * static_cast<double>(c.terms());
    if (products > options.replay_budget)
      every = static_cast<std::size_t>(products / options.replay_budget) + 1;
  }
};

}  // namespace

bool predicts_bits(const Plan& plan, DType out) {
  return !is_unordered(plan) && output_format(plan) == out;
}

void divide_magnitudes(const Contraction& c, double* magnitude, std::int64_t n) {
  if (c.divisor == 1) return;
  for (std::int64_t i = 0; i < n; ++i) magnitude[i] = magnitude[i] / c.divisor * (1 + 0x1p-50);
}

std::vector<Slab> cut_slabs(const Contraction& c, std::int64_t target) {
  // Which axes to cut: outermost ones one position at a time until a slab is small enough, then a range of
  // the next. Axes that only move B (channels, a matrix's columns) are kept whole if at all possible: cutting
  // them means reading A again for every part.
  const std::size_t axes = c.out.size();
  std::vector<std::size_t> order;
  auto moves_a = [&](std::size_t i) {
    if (c.out[i].a_stride != 0) return true;
    return std::any_of(c.red.begin(), c.red.end(),
                       [&](const RedAxis& r) { return r.coupling.out_axis == static_cast<int>(i); });
  };
  // Rows of a slab must be equally spaced: single positions first, whole axes next, then one range, whole
  // axes inside.
  std::size_t singles = 0;
  std::int64_t rest = c.outputs();  // outputs of a slab with the axes before `singles` fixed
  while (singles < axes && moves_a(singles) && rest > target) rest /= c.out[singles++].size;
  std::size_t ranged = axes;
  std::int64_t step = 0;
  if (singles > 0 && rest < target) {  // the last fixed axis can be taken a few positions at a time
    ranged = --singles;
    step = std::max<std::int64_t>(1, target / std::max<std::int64_t>(1, rest));
  } else if (rest > target) {
    ranged = singles;
    while (ranged < axes && !moves_a(ranged)) ++ranged;
    if (ranged == axes) ranged = singles;
    const std::int64_t per_position = rest / c.out[ranged].size;
    step = std::max<std::int64_t>(1, target / std::max<std::int64_t>(1, per_position));
  }
  std::vector<std::int64_t> stride(axes + 1, 1);
  for (std::size_t i = axes; i-- > 0;) stride[i] = stride[i + 1] * c.out[i].size;

  std::int64_t prefixes = 1;
  for (std::size_t i = 0; i < singles; ++i) prefixes *= c.out[i].size;
  std::vector<Slab> slabs;
  for (std::int64_t p = 0; p < prefixes; ++p) {
    Contraction fixed = c;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < singles; ++i) {
      std::int64_t at = p;
      for (std::size_t k = i + 1; k < singles; ++k) at /= c.out[k].size;
      at %= c.out[i].size;
      fixed = slice(fixed, static_cast<int>(i), at, at + 1);
      begin += at * stride[i + 1];
    }
    if (ranged == axes) {
      slabs.push_back({fixed, {begin, 1, stride[singles], stride[singles]}});
      continue;
    }
    const std::int64_t size = c.out[ranged].size, rows = stride[singles] / stride[ranged];
    for (std::int64_t from = 0; from < size; from += step) {
      const std::int64_t to = std::min(size, from + step);
      Strip place{begin + from * stride[ranged + 1], rows, (to - from) * stride[ranged + 1], stride[ranged]};
      if (place.rows > 1 && place.row_length == place.row_stride) {  // the whole axis: rows join
        place.row_length *= place.rows;
        place.row_stride = place.row_length;
        place.rows = 1;
      }
      slabs.push_back({slice(fixed, static_cast<int>(ranged), from, to), place});
    }
  }
  return slabs;
}

std::vector<SlabResult> judge_slabs(Executor& executor, const Contraction& c, const Operands& operands,
                                    const std::vector<Candidate>& candidates, const SlabOptions& options) {
  const auto map = std::make_shared<const StrataMap>(c);
  std::vector<std::unique_ptr<MeasurerPool>> pools;
  std::vector<int> outputs;
  for (const Candidate& k : candidates) {
    outputs.push_back(k.output);
    pools.push_back(std::make_unique<MeasurerPool>(
        Measurer(map, {options.out, k.bound, options.tolerance, options.magnitude_limit})));
  }
  Replays replays(candidates, c, options);
  std::vector<ReplayOutcome> outcomes(candidates.size());

  const std::vector<Slab> slabs = cut_slabs(c, slab_outputs(candidates.size(), options.out));
  std::int64_t largest = 0, done = 0;
  for (const Slab& slab : slabs) largest = std::max(largest, slab.place.count());
  std::vector<double> value(static_cast<std::size_t>(largest)), magnitude(static_cast<std::size_t>(largest));
  std::vector<std::uint32_t> rounded(static_cast<std::size_t>(largest));
  for (auto& r : replays.plans) r.bits.resize(static_cast<std::size_t>(largest));
  const ExactOptions exact_options{options.out, options.threads};

  if (!slabs.empty()) executor.start_copy(0, outputs, slabs[0].place);
  for (std::size_t s = 0; s < slabs.size(); ++s) {
    const Slab& slab = slabs[s];
    const std::int64_t count = slab.place.count();
    if (s + 1 < slabs.size()) executor.start_copy(static_cast<int>(s + 1) & 1, outputs, slabs[s + 1].place);
    exact(slab.part, operands, exact_options, 0, count, {value.data(), magnitude.data(), rounded.data()});
    divide_magnitudes(c, magnitude.data(), count);
    const bool replayed = s % replays.every == 0;
    if (replayed)
      for (auto& r : replays.plans)
        replay(*r.plan, slab.part, operands, 0, count, r.bits.data(), options.threads);

    const std::vector<const void*> parts = executor.finish_copy(static_cast<int>(s) & 1);
    const std::vector<Piece> pieces = pieces_of(slab.place);
    std::vector<std::int64_t> equal(pieces.size() * candidates.size());
    parallel_for(static_cast<std::int64_t>(pieces.size()), options.threads, [&](std::int64_t i) {
      const Piece& p = pieces[static_cast<std::size_t>(i)];
      for (std::size_t k = 0; k < candidates.size(); ++k) {
        const char* bits = static_cast<const char*>(parts[k]) + p.in_slab * size_of(options.out);
        pools[k]->add(p.in_output, p.count, bits, value.data() + p.in_slab, magnitude.data() + p.in_slab,
                      rounded.data() + p.in_slab);
        if (replayed && replays.of_candidate[k] >= 0)
          equal[static_cast<std::size_t>(i) * candidates.size() + k] = count_equal(
              bits, options.out,
              replays.plans[static_cast<std::size_t>(replays.of_candidate[k])].bits.data() + p.in_slab,
              p.count);
      }
    });
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      if (!replayed || replays.of_candidate[k] < 0) continue;
      outcomes[k].compared += count;
      for (std::size_t i = 0; i < pieces.size(); ++i) outcomes[k].equal += equal[i * candidates.size() + k];
    }
    done += count;
    if (options.progress) options.progress(done, c.outputs());
  }
  std::vector<SlabResult> results;
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    if (candidates[k].plan) outcomes[k].plan = to_string(*candidates[k].plan);
    results.push_back({pools[k]->result(c.out_shape), outcomes[k]});
  }
  return results;
}

std::vector<std::string> hash_outputs(Executor& executor, const Contraction& c, DType out,
                                      const std::vector<int>& outputs, int threads) {
  const std::int64_t total = c.outputs(), size = size_of(out);
  const std::int64_t chunk = static_cast<std::int64_t>(StreamHash::kChunk) / size;  // elements
  const auto n = static_cast<std::int64_t>(outputs.size());
  const std::int64_t step = chunk * std::max<std::int64_t>(1, kCopyBytes / (n * chunk * size));
  std::vector<StreamHash> hashes(outputs.size(), StreamHash(static_cast<std::size_t>(total * size)));
  auto strip_at = [&](std::int64_t from) {
    const std::int64_t length = std::min(step, total - from);
    return Strip{from, 1, length, length};
  };
  int slot = 0;
  executor.start_copy(slot, outputs, strip_at(0));
  for (std::int64_t from = 0; from < total; from += step, slot ^= 1) {
    if (from + step < total) executor.start_copy(slot ^ 1, outputs, strip_at(from + step));
    const std::vector<const void*> parts = executor.finish_copy(slot);
    const std::int64_t length = strip_at(from).row_length, chunks = (length + chunk - 1) / chunk;
    parallel_for(n * chunks, threads, [&](std::int64_t i) {
      const std::int64_t at = i / n * chunk;
      hashes[static_cast<std::size_t>(i % n)].add(
          static_cast<std::size_t>((from + at) / chunk),
          static_cast<const char*>(parts[static_cast<std::size_t>(i % n)]) + at * size,
          static_cast<std::size_t>(std::min(chunk, length - at) * size));
    });
  }
  std::vector<std::string> text;
  for (const StreamHash& h : hashes) text.push_back(h.hex());
  return text;
}

}  // namespace ulpscope
