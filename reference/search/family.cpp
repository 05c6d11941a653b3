#include "reference/search/family.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "reference/arithmetic/architectures.hpp"
#include "reference/plan/pixel_tiles.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kMostSlices = 256;  // cuBLAS was seen to cut K into up to 128
constexpr std::int64_t kMostDealt = 160;   // tiles dealt to up to this many chains

std::int64_t ceil_div(std::int64_t n, std::int64_t d) {
  return (n + d - 1) / d;
}

Level slices_of(std::int64_t length, Join join) {
  Level l;
  l.divide = Divide::chunks;
  l.count = length;
  l.join = join;
  return l;
}

Level dealt(std::int64_t lanes, std::int64_t run, Join join) {
  Level l;
  l.divide = Divide::lanes;
  l.count = lanes;
  l.unit = run;
  l.join = join;
  return l;
}

// Slice lengths: ceil(places / S) rounded up to the alignments of K tiles, for every S; and whole steps of
// the outermost axis, so that a convolution's channels or taps are cut.
std::vector<std::int64_t> slice_lengths(std::int64_t places, std::int64_t outermost_step) {
  std::set<std::int64_t> lengths;
  for (std::int64_t slices = 2; slices <= std::min(kMostSlices, places); ++slices)
    for (const std::int64_t align : {1, 4, 8, 16, 32, 64}) {
      if (align == 1 && slices > 32) continue;
      lengths.insert(ceil_div(ceil_div(places, slices), align) * align);
    }
  if (outermost_step > 1)
    for (std::int64_t steps = 1; steps * outermost_step < places && steps <= 64; ++steps)
      lengths.insert(steps * outermost_step);
  lengths.erase(lengths.lower_bound(places), lengths.end());
  // Long slices first: fewer partial sums are the simpler plan.
  return {lengths.rbegin(), lengths.rend()};
}

bool has(const std::vector<NamedExtent>& axes, const std::string& name) {
  return std::any_of(axes.begin(), axes.end(), [&](auto& a) { return a.name == name; });
}

}  // namespace

std::vector<Division> divisions(std::int64_t places, std::int64_t outermost_step, int step_terms, int tier) {
  const bool block = step_terms > 1;
  std::vector<Division> all;
  const std::vector<std::int64_t> residues =
      block ? std::vector<std::int64_t>{0, 16, 32, 64, 128} : std::vector<std::int64_t>{0};
  const std::vector<std::int64_t> lengths = slice_lengths(places, outermost_step);
  if (tier == 0) {
    for (const std::int64_t residue : residues) all.push_back({{}, residue});
    // Operands loaded as vectors, from memory to registers: a quarter of a step's places lie in one thread,
    // and a load of twice as many serves two steps.
    if (block && step_terms % 4 == 0) all.push_back({{}, 0, {2, step_terms / 4}});
    for (const std::int64_t length : lengths)
      for (const std::int64_t residue : residues) all.push_back({{slices_of(length, Join::seq)}, residue});
    for (const std::int64_t run :
         {8, 16, 32, 64, 4, 1}) {  // K tiles dealt out in turn: stream-K and sliced-K loops
      const std::int64_t most = std::min(kMostDealt, ceil_div(places, run));
      for (std::int64_t lanes = 2; lanes <= most; ++lanes)
        if (run == 8 || run == 32 || (lanes & (lanes - 1)) == 0)
          all.push_back({{dealt(lanes, run, Join::seq)}});
    }
    if (block)  // K tiles dealt to a few thread blocks, which hand their sums on
      for (const std::int64_t run : {64, 32, 128, 16})
        for (std::int64_t lanes = 2; lanes <= std::min<std::int64_t>(32, ceil_div(places, run)); ++lanes) {
          all.push_back({{dealt(lanes, run, Join::butterfly)}});
          if (run != 32 && (lanes & (lanes - 1)) != 0) all.push_back({{dealt(lanes, run, Join::seq)}});
        }
    for (const std::int64_t lanes : {32, 16, 8, 64, 128})  // a warp's lanes, joined by shuffles
      for (const std::int64_t run : {1, 2, 4, 8}) all.push_back({{dealt(lanes, run, Join::butterfly)}});
    for (const std::int64_t lanes : {32, 16}) {
      Level split;
      split.count = lanes;
      split.join = Join::butterfly;
      all.push_back({{split}});
    }
    for (const std::int64_t lanes : {16, 32, 8})  // gemv: lanes within tiles, tiles added lane by lane
      for (const std::int64_t per_tile : {32, 16, 8, 64})
        if (places > lanes * per_tile)
          all.push_back({{dealt(lanes, 1, Join::seq), slices_of(per_tile, Join::seq)}});
    all.push_back({{slices_of(1, Join::tree)}});
    // Dot products: a block of threads takes neighbouring places, each thread a vector of them; a tree over
    // the threads, and the blocks' sums added by four accumulators in turn (cuBLAS), or one after another.
    for (const std::int64_t vector : {1, 2, 4, 8})
      for (const std::int64_t threads : {128, 256, 64}) {
        const std::int64_t each = threads * vector;
        if (block || places <= each) continue;
        const Level tree = dealt(threads, vector, Join::butterfly);
        all.push_back({{dealt(4, each, Join::seq), slices_of(each, Join::seq), tree}});
        all.push_back({{slices_of(each, Join::seq), tree}});
      }
    return all;
  }
  for (const Join join : {Join::butterfly, Join::tree, Join::reverse, Join::recursive}) {
    for (const std::int64_t length : lengths) all.push_back({{slices_of(length, join)}});
    for (const std::int64_t run : {1, 4, 8, 16, 32})
      for (std::int64_t lanes = 2; lanes <= std::min<std::int64_t>(64, ceil_div(places, run));
           lanes += lanes < 16 ? 1 : 16)
        all.push_back({{dealt(lanes, run, join)}});
  }
  // Dealt lanes within slices, and slices within dealt lanes.
  for (const std::int64_t slices : {2, 3, 4, 6, 8, 16})
    for (const std::int64_t lanes : {2, 4, 8, 16, 32})
      for (const std::int64_t run : {1, 4, 8})
        for (const Join join : {Join::seq, Join::butterfly}) {
          const std::int64_t length = ceil_div(ceil_div(places, slices), 4) * 4;
          if (length < places) all.push_back({{slices_of(length, Join::seq), dealt(lanes, run, join)}});
        }
  return all;
}

std::vector<Order> orders(const std::vector<NamedExtent>& axes, bool block, int tier) {
  std::vector<Order> all{Order{}};
  std::vector<std::string> taps;
  for (const NamedExtent& a : axes)
    if (a.name != "c" && a.size > 1) taps.push_back(a.name);
  const bool convolution = has(axes, "c");
  auto nest = [](std::vector<OrderAxis> list) {
    Order o;
    o.kind = OrderKind::nest;
    o.axes = std::move(list);
    return o;
  };
  auto with_taps = [&](std::vector<OrderAxis> before, bool descending, std::vector<OrderAxis> after) {
    for (const std::string& t : taps) before.push_back({t, 0, false, descending});
    before.insert(before.end(), after.begin(), after.end());
    return nest(before);
  };
  if (convolution && !taps.empty()) {
    for (const bool descending : {false, true}) {
      if (descending && tier == 0 && block) continue;
      for (const std::int64_t chunk : {32, 16, 64, 8, 4})
        all.push_back(with_taps({{"c", chunk}}, descending, {{"c"}}));
      all.push_back(with_taps({}, descending, {{"c"}}));
      if (block) all.push_back(with_taps({}, descending, {{"c", 16}, {"c"}}));
      if (descending) all.push_back(with_taps({{"c"}}, true, {}));
    }
  } else if (convolution && block) {
    for (const std::int64_t chunk : {32, 16, 64}) all.push_back(nest({{"c", chunk}, {"c"}}));
  } else if (taps.size() > 1 && tier > 0) {  // sums over n, oh, ow: the batch innermost, too
    std::vector<OrderAxis> list;
    for (std::size_t i = 1; i < taps.size(); ++i) list.push_back({taps[i]});
    list.push_back({taps[0]});
    all.push_back(nest(list));
  }
  if (tier > 0) {
    Order reversed;
    reversed.reversed = true;
    all.push_back(reversed);
  }
  return all;
}

std::vector<TiledPlan> tilings(const Contraction& c, DType out) {
  std::vector<TiledPlan> all;
  const std::int64_t pixels = pixels_of(c);
  std::int64_t channels = 1;  // terms of one tap
  std::vector<OrderAxis> taps, rest;
  for (const RedAxis& r : c.red) {
    (r.coupling.out_axis >= 0 ? taps : rest).push_back({r.name});
    if (r.coupling.out_axis < 0) channels *= r.size;
  }
  std::vector<Order> nests(1);  // the canonical order, and taps outermost
  if (channels > 1) {
    nests.emplace_back().kind = OrderKind::nest;
    nests.back().axes = taps;
    nests.back().axes.insert(nests.back().axes.end(), rest.begin(), rest.end());
    std::swap(nests[0], nests[1]);
  }
  for (const std::int64_t length : {128, 64, 256, 32, 512, 1024})
    for (const Join join : {Join::seq, Join::reverse})
      for (const Order& order : nests)
        for (const bool by_tap : {true, false})
          for (const bool kept : {true, false}) {
            if (pixels <= length || (kept && out == DType::f32)) continue;
            if (by_tap && (channels == 1 || order.kind != OrderKind::nest)) continue;
            Level tiles;
            tiles.divide = Divide::tiles;
            tiles.count = length;
            tiles.join = join;
            if (kept) tiles.kept = out;
            all.push_back({order, {tiles}});
            if (by_tap) all.back().levels.push_back(slices_of(channels, Join::seq));
          }
  return all;
}

std::vector<Arithmetic> arithmetics(OperandFormat a, OperandFormat b, int tier, int block_terms) {
  std::vector<Arithmetic> all;
  auto tensor = [](OperandFormat f) { return f != OperandFormat::fp32 && f != OperandFormat::fp64; };
  Arithmetic fma, separate;
  separate.step = Step::mul_add;
  if (tensor(a) && tensor(b)) {
    const bool tf32 =
        a == OperandFormat::tf32_rne || a == OperandFormat::tf32_rna || a == OperandFormat::tf32_rz;
    auto block = [&](int terms, int frac) {
      Arithmetic x;
      x.step = Step::block;
      x.block.terms = terms;
      x.block.frac = frac;
      return x;
    };
    const int usual = tf32 ? 8 : 16;
    if (block_terms != 0 && block_terms != usual) all.push_back(block(block_terms, 25));
    // Hopper and Blackwell first, then Ampere's and Turing's steps (reference/arithmetic/architectures.hpp).
    all.push_back(block(usual, 25));
    // Kernels made for Turing (s1688) add 16-bit products eight at a time on Hopper, too.
    if (!tf32 && block_terms != 8) all.push_back(block(8, 25));
    if (tier > 0) {
      all.push_back(block(tf32 ? 4 : 8, 24));
      if (tf32) all.push_back(block(4, 25));
    }
    all.push_back(fma);
    return all;
  }
  all.push_back(fma);
  all.push_back(separate);
  Arithmetic wide = fma;
  wide.accumulator = wide.product = DType::f64;
  all.push_back(wide);
  if (tier > 0) {
    Arithmetic mixed = separate;
    mixed.accumulator = DType::f64;
    all.push_back(mixed);
    Arithmetic kahan;
    kahan.step = Step::kahan;
    all.push_back(kahan);
    kahan.step = Step::kahan_fma;
    all.push_back(kahan);
  }
  return all;
}

}  // namespace ulpscope
