#include "harness/explain/region.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reference/counted.hpp"
#include "reference/terms.hpp"

namespace ulpscope {
namespace {

// An axis as users count it: groups and channels of a group are one axis.
struct Axis {
  std::string name;
  std::int64_t size = 1, inner = 1;  // position = (o / inner) % size
};

std::vector<Axis> axes_of(const Contraction& c) {
  std::vector<Axis> axes;
  std::int64_t inner = 1;
  for (std::size_t x = c.out.size(); x-- > 0;) {
    const OutAxis& a = c.out[x];
    if (a.name == "m" && x > 0 && c.out[x - 1].name == "g") {
      axes.push_back({"channel", a.size * c.out[x - 1].size, inner});
      inner *= a.size * c.out[x - 1].size;
      --x;
    } else {
      if (a.size > 1) axes.push_back({a.name, a.size, inner});
      inner *= a.size;
    }
  }
  return axes;
}

// Residues modulo `modulo` that hold all affected positions, if every position of theirs is affected.
bool periodic(const std::vector<std::uint8_t>& hit, std::int64_t modulo,
              std::vector<std::int64_t>& residues) {
  const auto n = static_cast<std::int64_t>(hit.size());
  residues.clear();
  for (std::int64_t r = 0; r < modulo; ++r) {
    bool any = false, every = true;
    for (std::int64_t p = r; p < n; p += modulo)
      (hit[static_cast<std::size_t>(p)] ? any : every) = hit[static_cast<std::size_t>(p)] != 0;
    if (any && !every) return false;
    if (any) residues.push_back(r);
  }
  return static_cast<std::int64_t>(residues.size()) < modulo && n >= 2 * modulo;
}

}  // namespace

std::vector<std::int64_t> coordinates_of(const Shape& shape, std::int64_t index) {
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t x = shape.size(); x-- > 0;) {
    at[x] = index % shape[x];
    index /= shape[x];
  }
  return at;
}

std::string tiles_that_leave(std::int64_t size, std::int64_t rest) {
  std::string all, last;
  for (const std::int64_t tile : {4, 8, 16, 32, 64, 128, 256})
    if (size % tile == rest) {
      if (!last.empty()) all += (all.empty() ? "" : ", ") + last;
      last = std::to_string(tile);
    }
  return last.empty() ? "" : fmt::format("{} mod {}{}", size, all.empty() ? "" : all + " and ", last);
}

Region region_of(const Contraction& c, const std::vector<std::uint8_t>& member) {
  Region r;
  r.of = static_cast<std::int64_t>(member.size());
  for (std::size_t i = 0; i < member.size(); ++i)
    if (member[i]) {
      ++r.outputs;
      if (r.first < 0) r.first = static_cast<std::int64_t>(i);
    }
  if (r.first >= 0) r.first_coordinates = coordinates_of(c.out_shape, r.first);
  if (r.outputs == 0) {
    r.words = "no output";
    return r;
  }
  if (r.outputs == 1) {
    r.localised = true;
    r.words = fmt::format("one output, [{}]", fmt::join(r.first_coordinates, ", "));
    return r;
  }
  // The axis that narrows the set most, if its affected positions are affected (nearly) throughout.
  double best = 0.999;
  for (const Axis& a : axes_of(c)) {
    std::vector<std::uint8_t> hit(static_cast<std::size_t>(a.size), 0);
    for (std::int64_t o = 0; o < r.of; ++o)
      if (member[static_cast<std::size_t>(o)]) hit[static_cast<std::size_t>(o / a.inner % a.size)] = 1;
    const std::int64_t hits = std::count(hit.begin(), hit.end(), 1);
    const double share = static_cast<double>(hits) / static_cast<double>(a.size);
    if (share >= best) continue;
    const double filled = static_cast<double>(r.outputs) / (share * static_cast<double>(r.of));
    if (filled < 0.5) continue;
    best = share;
    r.localised = true;
    r.axis = a.name;
    r.positions.clear();
    r.modulo = 0;
    for (std::int64_t p = 0; p < a.size && r.positions.size() < 64; ++p)
      if (hit[static_cast<std::size_t>(p)]) r.positions.push_back(p);
    r.from = std::find(hit.begin(), hit.end(), 1) - hit.begin();
    r.to = a.size - (std::find(hit.rbegin(), hit.rend(), 1) - hit.rbegin());
    std::string where;
    if (hits == 1) {
      where = fmt::format("{} {}", a.name, r.from);
    } else if (r.to - r.from == hits) {
      where = fmt::format("{} {} to {}{}", a.name, r.from, r.to - 1,
                          r.to == a.size ? fmt::format(" (the last {})", hits)
                          : r.from == 0  ? fmt::format(" (the first {})", hits)
                                         : "");
      if (const std::string tiles = tiles_that_leave(a.size, hits); r.to == a.size && !tiles.empty())
        where += fmt::format(", which is {}: a partial tile", tiles);
    } else {
      std::vector<std::int64_t> residues;
      for (std::int64_t m = 2; m <= 256 && r.modulo == 0; ++m)
        if (periodic(hit, m, residues)) {
          r.modulo = m;
          where = fmt::format("{} with position mod {} in {{{}}}", a.name, m, fmt::join(residues, ", "));
        }
      if (r.modulo == 0)
        where = fmt::format("{} of {} positions on axis {} (first {})", hits, a.size, a.name, r.from);
    }
    r.words = fmt::format("{} of {}, all at {}", r.outputs, counted(r.of, "output"), where);
  }
  if (!r.localised)
    r.words = r.outputs == r.of ? "all outputs"
                                : fmt::format("{} of {}, first at [{}]", r.outputs, counted(r.of, "output"),
                                              fmt::join(r.first_coordinates, ", "));
  return r;
}

}  // namespace ulpscope
