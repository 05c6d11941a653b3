#include "harness/explain/mistakes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "harness/explain/weights_fit.hpp"
#include "reference/arithmetic/operand.hpp"
#include "reference/terms.hpp"

namespace ulpscope {
namespace {

constexpr OperandFormat kFormats[] = {OperandFormat::fp32,     OperandFormat::tf32_rne,
                                      OperandFormat::tf32_rna, OperandFormat::tf32_rz,
                                      OperandFormat::bf16,     OperandFormat::fp16};
constexpr std::size_t kSample = 48, kConfirmed = 4096;

MutantSum sum_of(const Contraction& c, const Operands& operands, std::int64_t o, OperandFormat format) {
  MutantSum s;
  if (c.has_bias) {
    s.value = operands.bias.at(bias_index(c, o));
    s.magnitude = std::abs(s.value);
  }
  for_each_term(c, o, [&](std::int64_t ia, std::int64_t ib, std::int64_t) {
    const double a = shorten(format, static_cast<float>(operands.a.at(ia)));
    const double b =
        c.b_is_ones ? 1.0 : static_cast<double>(shorten(format, static_cast<float>(operands.b.at(ib))));
    s.value += a * b;
    s.magnitude += std::abs(a * b);
    ++s.terms;
  });
  s.value /= c.divisor;
  s.magnitude /= std::abs(c.divisor);
  return s;
}

class Finder {
 public:
  explicit Finder(const Suspect& s) : s_(s) {
    for (std::size_t i = 0; i < s.bad.size(); ++i)
      if (s.bad[i]) bad_.push_back(static_cast<std::int64_t>(i));
    sample_ = spread(bad_, kSample);
  }

  std::optional<Mistake> operator()() {
    if (bad_.empty()) return {};
    region_ = region_of(*s_.c, s_.bad);
    if (auto m = content()) return m;
    if (auto m = whole_output()) return m;
    if (bad_.size() >= 3) {
      for (const Mutant& mutant : mutants_of(*s_.problem, *s_.c))
        if (auto m = try_map(mutant)) return m;
      if (auto m = lost_terms()) return m;
      if (auto m = weights()) return m;
    }
    return place();
  }

 private:
  static std::vector<std::int64_t> spread(const std::vector<std::int64_t>& all, std::size_t n) {
    if (all.size() <= n) return all;
    std::vector<std::int64_t> some;
    for (std::size_t i = 0; i < n; ++i)
      some.push_back(all[i * all.size() / n + (i * 7919) % (all.size() / n)]);
    return some;
  }
  double seen(std::int64_t o) const { return s_.seen[static_cast<std::size_t>(o)]; }
  double truth(std::int64_t o) const { return s_.value[static_cast<std::size_t>(o)]; }

  Mistake named(std::string name, std::string what, std::string evidence, bool reproduced = true) const {
    Mistake m;
    m.name = std::move(name);
    m.what = std::move(what);
    m.evidence = std::move(evidence);
    m.region = region_;
    m.reproduced = reproduced;
    return m;
  }

  // Within what any order of fp32 sums of these operands can do.
  bool fits(double seen, const MutantSum& m) const {
    if (!std::isfinite(seen)) return false;
    return std::abs(seen - m.value) <= admissible_error(m.terms, m.magnitude, m.value, s_.out);
  }

  // The same for all sampled outputs at once, for some shortening of the operands; residual of the best.
  std::optional<OperandFormat> format_of(const std::function<MutantSum(std::int64_t, OperandFormat)>& f,
                                         const std::vector<std::int64_t>& outputs, double& residual) const {
    // Without shortening, within what the coarsest of them may do: cheap, and rejects nearly everything.
    for (const std::int64_t o : outputs) {
      const MutantSum m = f(o, OperandFormat::fp32);
      if (!(std::abs(seen(o) - m.value) <=
            8.5e-3 * m.magnitude + admissible_error(m.terms, m.magnitude, m.value, s_.out)))
        return {};
    }
    for (const OperandFormat format : kFormats) {
      residual = 0;
      bool all = true;
      for (const std::int64_t o : outputs) {
        const MutantSum m = f(o, format);
        if (!(all = fits(seen(o), m))) break;
        residual = std::max(residual, std::abs(seen(o) - m.value));
      }
      if (all) return format;
    }
    return {};
  }

  std::string evidence_of(OperandFormat format, double residual, std::size_t checked) const {
    double largest = 0;
    for (const std::int64_t o : bad_) {
      const double e = std::abs(seen(o) - truth(o));
      if (std::isfinite(e)) largest = std::max(largest, e);
    }
    return fmt::format(
        "with {} operands it leaves at most {:.2g} on {} checked outputs, where the error is up to {:.3g}",
        info(format).name, residual, checked, largest);
  }

  std::optional<Mistake> accept(const std::string& name, const std::string& what,
                                const std::function<MutantSum(std::int64_t, OperandFormat)>& f) const {
    double residual = 0;
    if (!format_of(f, sample_, residual)) return {};
    const std::vector<std::int64_t> more = spread(bad_, kConfirmed);
    const auto format = format_of(f, more, residual);
    if (!format) return {};
    Mistake m = named(name, what, evidence_of(*format, residual, more.size()));
    m.max_residual = residual;
    return m;
  }

  std::optional<Mistake> try_map(const Mutant& mutant) const {
    return accept(mutant.name, mutant.what, [&](std::int64_t o, OperandFormat format) {
      return sum_of(mutant.map, *s_.operands, o, format);
    });
  }

  // What was left in memory.
  std::optional<Mistake> content() const {
    const double first = seen(bad_[0]);
    std::size_t nan = 0, zero = 0, same = 0, stale = 0, infinite = 0, stale_differs = 0, true_varies = 0;
    for (const std::int64_t o : bad_) {
      const double x = seen(o);
      true_varies += truth(o) != truth(bad_[0]);
      nan += std::isnan(x);
      infinite += std::isinf(x);
      zero += x == 0;
      same += x == first;
      if (s_.stale) {
        const double y = (*s_.stale)[static_cast<std::size_t>(o)];
        stale += x == y;
        stale_differs += y != truth(o);
      }
    }
    const std::size_t n = bad_.size();
    if (nan == n)
      return named("unwritten", "never written: NaN where the truth is finite", fmt::format("{} NaN", n));
    if (zero == n)
      return named("unwritten", "never written or never accumulated: zeros",
                   fmt::format("{} zeros where the truth is not 0", n));
    if (same == n && n > 1 && true_varies)  // a constant where the truth is one may be a wrong sum
      return named("unwritten", fmt::format("never written: the constant {:g} is left there", first),
                   fmt::format("{} times the same value", n));
    if (s_.stale && stale == n && n > 1 && stale_differs)
      return named("stale_output", "stale: the values of another dump",
                   fmt::format("{} values equal to it in every bit", n));
    if (nan + zero == n)
      return named("unwritten", "never written: zeros and NaN", fmt::format("{} NaN, {} zeros", nan, zero));
    if (nan + infinite > 0 && nan + infinite < n) {
      // Garbage: most finite values are absurd as well.
      std::size_t wild = nan + infinite;
      for (const std::int64_t o : bad_)
        wild += std::isfinite(seen(o)) && std::abs(seen(o)) > 1e3 * s_.magnitude[static_cast<std::size_t>(o)];
      if (wild * 2 > n)
        return named("uninitialised", "uninitialised memory: NaN, infinities and absurd values",
                     fmt::format("{} of {} values", wild, n));
    }
    return {};
  }

  // The right sums in the wrong place, or times a factor, or with the bias wrong.
  std::optional<Mistake> whole_output() const {
    const Contraction& c = *s_.c;
    auto plain = [&](std::int64_t o, OperandFormat f) { return sum_of(c, *s_.operands, o, f); };
    if (c.has_bias) {
      for (const int extra : {-1, 1})
        if (auto m = accept(extra < 0 ? "missing_bias" : "doubled_bias",
                            extra < 0 ? "the bias is not added" : "the bias is added twice",
                            [&](std::int64_t o, OperandFormat f) {
                              MutantSum s = plain(o, f);
                              const double bias = s_.operands->bias.at(bias_index(c, o));
                              s.value += extra * bias / c.divisor;
                              s.magnitude += std::abs(bias / c.divisor);
                              return s;
                            }))
          return m;
    }
    for (const double factor : {2.0, -1.0, 0.5, 3.0, 4.0, 0.25})
      if (auto m = accept("scaled",
                          factor == 2.0 ? "everything is added twice"
                                        : fmt::format("the result is {} times the right one", factor),
                          [&](std::int64_t o, OperandFormat f) {
                            MutantSum s = plain(o, f);
                            s.value *= factor;
                            s.magnitude *= std::abs(factor);
                            return s;
                          }))
        return m;
    std::int64_t inner = 1;
    for (std::size_t x = c.out.size(); x-- > 0; inner *= c.out[x + 0].size) {
      const std::int64_t size = c.out[x].size;
      if (size < 2) continue;
      for (std::int64_t by = 1; by < size && by <= 256; by *= 2)
        for (const std::int64_t shift : {by, -by}) {
          std::vector<std::uint8_t> edge(0);
          // Where the source lies outside, nothing can be said; those outputs are left to the others.
          std::vector<std::int64_t> inside;
          for (const std::int64_t o : sample_) {
            const std::int64_t p = o / inner % size + shift;
            if (p >= 0 && p < size) inside.push_back(o);
          }
          if (inside.size() < 3 || inside.size() * 2 < sample_.size()) continue;
          double residual = 0;
          const auto format = format_of(
              [&](std::int64_t o, OperandFormat f) { return plain(o + shift * inner, f); }, inside, residual);
          if (format)
            return named("shifted_output",
                         fmt::format("the values belong {} place{} {} along {}", by, by > 1 ? "s" : "",
                                     shift > 0 ? "further" : "back", c.out[x].name),
                         evidence_of(*format, residual, inside.size()));
        }
    }
    return {};
  }

  // One output's sum by position on a reduction axis.
  struct AxisSums {
    std::vector<double> part;
    MutantSum total;
  };
  AxisSums by_axis(std::int64_t o, std::size_t axis, OperandFormat format) const {
    const Contraction& c = *s_.c;
    std::int64_t inner = 1;
    for (std::size_t x = axis + 1; x < c.red.size(); ++x) inner *= c.red[x].size;
    AxisSums a;
    a.part.resize(static_cast<std::size_t>(c.red[axis].size));
    for_each_term(c, o, [&](std::int64_t ia, std::int64_t ib, std::int64_t id) {
      const double p =
          static_cast<double>(shorten(format, static_cast<float>(s_.operands->a.at(ia)))) *
          (c.b_is_ones ? 1.0
                       : static_cast<double>(shorten(format, static_cast<float>(s_.operands->b.at(ib)))));
      a.part[static_cast<std::size_t>(id / inner % c.red[axis].size)] += p / c.divisor;
      a.total.magnitude += std::abs(p / c.divisor);
      ++a.total.terms;
    });
    for (const double p : a.part) a.total.value += p;
    if (c.has_bias) {
      const double bias = s_.operands->bias.at(bias_index(c, o)) / c.divisor;
      a.total.value += bias;
      a.total.magnitude += std::abs(bias);
    }
    return a;
  }

  // Terms left out or added twice: a tail or a head of a reduction axis, one place of it, a lane.
  std::optional<Mistake> lost_terms() const {
    for (const OperandFormat format : kFormats)
      for (std::size_t axis = 0; axis < s_.c->red.size(); ++axis) {
        const std::int64_t size = s_.c->red[axis].size;
        if (size < 2) continue;
        std::vector<AxisSums> sums;
        for (std::size_t i = 0; i < std::min<std::size_t>(sample_.size(), 16); ++i)
          sums.push_back(by_axis(sample_[i], axis, format));
        if (auto m = lost_on(axis, size, sums, format)) return m;
      }
    return {};
  }

  using Places = std::function<bool(std::int64_t)>;
  std::optional<Mistake> lost_on(std::size_t axis, std::int64_t size, const std::vector<AxisSums>& sums,
                                 OperandFormat format) const {
    const std::string& name = s_.c->red[axis].name;
    auto try_places = [&](const Places& lost, int times, const std::string& kind,
                          const std::string& what) -> std::optional<Mistake> {
      double residual = 0;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        MutantSum m = sums[i].total;
        double change = 0;
        for (std::int64_t p = 0; p < size; ++p)
          if (lost(p)) change += sums[i].part[static_cast<std::size_t>(p)];
        m.value += times * change;
        if (!fits(seen(sample_[i]), m)) return {};
        residual = std::max(residual, std::abs(seen(sample_[i]) - m.value));
      }
      for (const std::int64_t o : spread(bad_, 512)) {
        const AxisSums a = by_axis(o, axis, format);
        MutantSum m = a.total;
        for (std::int64_t p = 0; p < size; ++p)
          if (lost(p)) m.value += times * a.part[static_cast<std::size_t>(p)];
        if (!fits(seen(o), m)) return {};
        residual = std::max(residual, std::abs(seen(o) - m.value));
      }
      Mistake m = named(kind, what, evidence_of(format, residual, std::min<std::size_t>(bad_.size(), 512)));
      m.max_residual = residual;
      return m;
    };
    for (std::int64_t r = 1; r < size; ++r) {
      const std::string tiles = tiles_that_leave(size, r), residue = tiles.empty() ? "" : " = " + tiles;
      if (auto m = try_places(
              [&](std::int64_t p) { return p >= size - r; }, -1, "lost_tail",
              fmt::format("the last {} of {} terms along {} are missing{}", r, size, name, residue)))
        return m;
      if (auto m = try_places([&](std::int64_t p) { return p < r; }, -1, "lost_head",
                              fmt::format("the first {} of {} terms along {} are missing", r, size, name)))
        return m;
      if (auto m = try_places(
              [&](std::int64_t p) { return p >= size - r; }, 1, "doubled_tail",
              fmt::format("the last {} of {} terms along {} are added twice{}", r, size, name, residue)))
        return m;
    }
    for (std::int64_t i = 0; i < size; ++i) {
      if (auto m = try_places([&](std::int64_t p) { return p == i; }, -1, "lost_term",
                              fmt::format("{} {} is missing from the sum", name, i)))
        return m;
      if (auto m = try_places([&](std::int64_t p) { return p == i; }, 1, "doubled_term",
                              fmt::format("{} {} is added twice", name, i)))
        return m;
    }
    for (std::int64_t lanes = 2; lanes <= 64 && lanes < size; lanes *= 2)
      for (std::int64_t lane = 0; lane < lanes; ++lane)
        if (auto m = try_places([&](std::int64_t p) { return p % lanes == lane; }, -1, "bad_lane",
                                fmt::format("terms with {} mod {} = {} are missing: one lane of {}", name,
                                            lanes, lane, lanes)))
          return m;
    for (std::int64_t tile = 4; tile <= 256 && tile < size; tile *= 2)
      for (std::int64_t from = tile; from + tile < size; from += tile)
        if (auto m = try_places([&](std::int64_t p) { return p >= from && p < from + tile; }, -1, "lost_tile",
                                fmt::format("terms {} to {} along {} are missing: one tile of {}", from,
                                            from + tile - 1, name, tile)))
          return m;
    return {};
  }

  std::optional<Mistake> weights() const {
    auto fit = fit_weights(s_, bad_);
    if (!fit) fit = rounded_by_residuals(s_);
    if (!fit) return {};
    Mistake m = named(fit->name, fit->what, fit->evidence);
    m.fitted = true;
    m.other_inputs = fit->rounded || (fit->all_differ && region_.outputs * 10 >= region_.of * 9);
    return m;
  }

  // No map accounts for it, but it has a place.
  std::optional<Mistake> place() const {
    if (!region_.localised || bad_.size() < 2) return {};
    double largest = 0;
    for (const std::int64_t o : bad_)
      if (std::isfinite(seen(o))) largest = std::max(largest, std::abs(seen(o) - truth(o)));
    const bool channel = region_.axis == "channel";
    const char* name = region_.modulo > 0              ? "bad_lane"
                       : channel                       ? "bad_channel"
                       : region_.to - region_.from > 1 ? "bad_tile"
                                                       : "bad_row";
    return named(name, fmt::format("wrong values at one place only: {}", region_.words),
                 fmt::format("errors up to {:.3g} there, none beyond roundings elsewhere", largest), false);
  }

  const Suspect& s_;
  std::vector<std::int64_t> bad_, sample_;
  Region region_;
};

}  // namespace

double admissible_error(std::int64_t terms, double magnitude, double value, DType out) {
  // Any order of rounded products and sums stays within n*u*S; a truncating tensor core of 24 bits within
  // twice that.
  return 2.01 * static_cast<double>(terms + 6) * 0x1p-24 * magnitude +
         0.51 * ulp_at(out, value == 0 ? 1e-300 : value) + 0x1p-140;
}

std::optional<Mistake> find_mistake(const Suspect& s) {
  return Finder(s)();
}

}  // namespace ulpscope
