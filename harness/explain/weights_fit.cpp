#include "harness/explain/weights_fit.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>

#include "harness/explain/mistakes.hpp"
#include "reference/arithmetic/operand.hpp"
#include "reference/formats.hpp"
#include "reference/terms.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kMostUnknowns = 640;
constexpr int kChannels = 3;  // looked at

// Outputs that share their weights: what out axes with a stride in B (or the bias) have in common.
std::int64_t channel_of(const Contraction& c, std::int64_t o) {
  const auto at = out_coordinates(c, o);
  std::int64_t key = 0;
  for (std::size_t x = 0; x < c.out.size(); ++x)
    if (c.out[x].b_stride != 0 || c.out[x].bias_stride != 0) key = key * c.out[x].size + at[x];
  return key;
}

struct Solved {
  std::vector<std::int64_t> index;  // into B
  std::vector<double> weight, given;
  double constant = 0, residual = 0, scale = 0;
};

std::optional<Solved> solve(const Suspect& s, const std::vector<std::int64_t>& outputs) {
  const Contraction& c = *s.c;
  std::map<std::int64_t, int> column;
  for (std::size_t i = 0; i < std::min<std::size_t>(outputs.size(), 64); ++i)
    for_each_term(c, outputs[i * outputs.size() / std::min<std::size_t>(outputs.size(), 64)],
                  [&](std::int64_t, std::int64_t ib, std::int64_t) { column.emplace(ib, 0); });
  int unknowns = 0;
  Solved r;
  for (auto& [index, at] : column) {
    at = unknowns++;
    r.index.push_back(index);
    r.given.push_back(s.operands->b.at(index));
  }
  const auto rows = std::min<std::size_t>(outputs.size(), static_cast<std::size_t>(2 * unknowns + 64));
  if (unknowns == 0 || unknowns > kMostUnknowns ||
      rows < static_cast<std::size_t>(unknowns + unknowns / 4 + 8))
    return {};
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(rows), unknowns + 1);
  Eigen::VectorXd y(static_cast<Eigen::Index>(rows));
  for (std::size_t i = 0; i < rows; ++i) {
    const std::int64_t o = outputs[i * outputs.size() / rows];
    const auto row = static_cast<Eigen::Index>(i);
    y[row] = s.seen[static_cast<std::size_t>(o)];
    if (!std::isfinite(y[row])) return {};
    m(row, unknowns) = 1;
    bool known = true;
    for_each_term(c, o, [&](std::int64_t ia, std::int64_t ib, std::int64_t) {
      const auto at = column.find(ib);
      known &= at != column.end();
      if (known) m(row, at->second) += s.operands->a.at(ia) / c.divisor;
    });
    if (!known) return {};
  }
  if (!m.allFinite()) return {};
  const Eigen::VectorXd w = m.colPivHouseholderQr().solve(y);
  const Eigen::VectorXd left = y - m * w;
  // Rounded operands of any kind leave a part in 2^-8 at most; something else leaves the size of the data.
  const double scale = (m.cwiseAbs() * w.cwiseAbs()).maxCoeff();
  r.residual = left.cwiseAbs().maxCoeff();
  if (!(r.residual <= 4e-3 * scale) || !(left.norm() <= 0.02 * (y.array() - y.mean()).matrix().norm()))
    return {};
  for (int i = 0; i < unknowns; ++i) r.weight.push_back(w[i]);
  r.constant = w[unknowns];
  r.scale = scale;
  return r;
}

constexpr struct {
  OperandFormat format;
  DType type;
} kShort[] = {{OperandFormat::bf16, DType::bf16}, {OperandFormat::fp16, DType::f16}};

bool all_of_format(const Operands& operands, OperandFormat format) {
  for (std::int64_t i = 0; i < operands.b.size(); ++i) {
    const auto w = static_cast<float>(operands.b.at(i));
    if (shorten(format, w) != w) return false;
  }
  return true;
}

// A module that was converted in place (`m.bfloat16()`) before its weights were dumped: the ones given are
// numbers of a short format, the ones used are not, and lie within half a step of them. Only outputs that are
// exact but for fp32 roundings tell such small changes from noise.
std::optional<WeightsFit> rounded_before_dump(const Suspect& s, const std::vector<Solved>& channels) {
  for (const auto& [format, type] : kShort) {
    if (!all_of_format(*s.operands, format)) continue;
    std::size_t elements = 0, within = 0, differ = 0;
    double residual = 0;
    for (const Solved& solved : channels) {
      if (solved.residual > 0x1p-20 * solved.scale) return {};
      residual = std::max(residual, solved.residual);
      for (std::size_t i = 0; i < solved.weight.size(); ++i) {
        const double off = std::abs(solved.weight[i] - solved.given[i]);
        const double half = 0.5 * ulp_at(type, solved.given[i] == 0 ? 1e-300 : solved.given[i]);
        ++elements;
        within += off <= 1.1 * half;
        differ += off > 0.1 * half;
      }
    }
    if (within * 20 < elements * 19 || differ * 2 < elements) continue;
    WeightsFit fit;
    fit.name = "rounded_weights";
    fit.rounded = true;
    fit.what = fmt::format(
        "the weights given are the ones used, rounded to {}: dumped after the module was converted in place",
        name_of(type));
    fit.evidence = fmt::format(
        "solved from {} channels' outputs: {} of {} weights lie within half a {} step of the ones given, {} "
        "are not those; every one given is a {} number; the solved ones leave at most {:.2g}",
        channels.size(), within, elements, name_of(type), differ, name_of(type), residual);
    return fit;
  }
  return {};
}

}  // namespace

std::optional<WeightsFit> rounded_by_residuals(const Suspect& s) {
  const Contraction& c = *s.c;
  constexpr std::int64_t kFewest = 128;  // the mean square of so many scatters by an eighth
  if (c.b_is_ones || s.out != DType::f32 || c.outputs() < kFewest) return {};
  for (const auto& [format, type] : kShort) {
    if (!all_of_format(*s.operands, format)) continue;
    double squares = 0, largest = 0;
    std::int64_t counted = 0;
    bool within = true;
    for (std::int64_t o = 0; o < c.outputs() && within; ++o) {
      double variance = 0, most = 0;
      for_each_term(c, o, [&](std::int64_t ia, std::int64_t ib, std::int64_t) {
        const double w = s.operands->b.at(ib);
        const double half = 0.5 * ulp_at(type, w == 0 ? 1e-300 : w) * std::abs(s.operands->a.at(ia));
        variance += half * half / 3;  // uniform within half a step
        most += half;
      });
      const auto i = static_cast<std::size_t>(o);
      const double off = std::abs(s.seen[i] - s.value[i]) * std::abs(c.divisor);
      const double noise = admissible_error(c.terms(), s.magnitude[i], s.value[i], s.out);
      within = std::isfinite(off) && off <= most + noise && off <= 6 * std::sqrt(variance) + noise;
      if (variance == 0) continue;
      squares += off * off / variance;
      largest = std::max(largest, off / std::sqrt(variance));
      ++counted;
    }
    if (!within || counted < kFewest) continue;
    const double mean = squares / static_cast<double>(counted);
    if (mean < 0.7 || mean > 1.4) continue;
    WeightsFit fit;
    fit.name = "rounded_weights";
    fit.rounded = true;
    fit.what = fmt::format(
        "the weights given look like the ones used, rounded to {}: dumped after the module was converted in "
        "place",
        name_of(type));
    fit.evidence = fmt::format(
        "every weight given is a {} number, and what {} outputs leave over is what rounding to nearest takes "
        "from weights: {:.3g} times its mean square, at most {:.2g} standard deviations",
        name_of(type), counted, mean, largest);
    return fit;
  }
  return {};
}

std::optional<WeightsFit> fit_weights(const Suspect& s, const std::vector<std::int64_t>& bad) {
  const Contraction& c = *s.c;
  if (c.b_is_ones) return {};
  std::map<std::int64_t, std::vector<std::int64_t>> channels;
  for (const std::int64_t o : bad) channels[channel_of(c, o)];
  const std::size_t step = std::max<std::size_t>(1, channels.size() / kChannels);
  std::vector<std::int64_t> chosen;
  for (auto it = channels.begin(); it != channels.end() && chosen.size() < kChannels;) {
    chosen.push_back(it->first);
    for (std::size_t i = 0; i < step && it != channels.end(); ++i) ++it;
  }
  for (std::int64_t o = 0; o < c.outputs(); ++o) {
    const std::int64_t channel = channel_of(c, o);
    if (std::find(chosen.begin(), chosen.end(), channel) != chosen.end()) channels[channel].push_back(o);
  }
  std::int64_t elements = 0, differ = 0, zero = 0, elsewhere = 0;
  double largest = 0, bias_change = 0, residual = 0;
  std::vector<std::int64_t> which;
  std::vector<double> all;
  for (std::int64_t i = 0; i < s.operands->b.size(); ++i) all.push_back(s.operands->b.at(i));
  for (const double w : all) largest = std::max(largest, std::abs(w));
  std::sort(all.begin(), all.end());
  const double spacing = (all.back() - all.front()) / static_cast<double>(all.size());
  std::vector<Solved> kept;
  for (const std::int64_t channel : chosen) {
    const auto solved = solve(s, channels[channel]);
    if (!solved) return {};
    kept.push_back(*solved);
    residual = std::max(residual, solved->residual);
    for (std::size_t i = 0; i < solved->weight.size(); ++i) {
      const double w = solved->weight[i];
      ++elements;
      if (std::abs(w - solved->given[i]) <= 0.02 * largest) continue;
      ++differ;
      which.push_back(solved->index[i]);
      zero += std::abs(w) <= 0.01 * largest;
      const auto at = std::lower_bound(all.begin(), all.end(), w);
      double nearest = at == all.end() ? largest : *at - w;
      if (at != all.begin()) nearest = std::min(nearest, w - *(at - 1));
      elsewhere += nearest <= 0.05 * spacing;
    }
    const double bias = c.has_bias ? s.operands->bias.at(bias_index(c, channels[channel][0])) / c.divisor : 0;
    if (std::abs(solved->constant - bias) > 0.02 * std::max(largest, std::abs(bias)))
      bias_change = std::max(bias_change, std::abs(solved->constant - bias));
  }
  WeightsFit fit;
  fit.evidence = fmt::format(
      "solved from {} channels' outputs: {} of {} weights differ from the ones given; the solved ones leave "
      "at most {:.2g}",
      chosen.size(), differ, elements, residual);
  if (differ == 0) {
    if (auto rounded = rounded_before_dump(s, kept)) return rounded;
    if (bias_change == 0) return {};
    fit.name = "wrong_bias";
    fit.what = fmt::format(
        "a constant of up to {:.3g} is added to whole channels: a wrong or uninitialised bias", bias_change);
    return fit;
  }
  fit.all_differ = differ * 10 >= elements * 8 && elsewhere * 10 < differ * 9;
  if (elsewhere * 10 >= differ * 9 && zero * 2 < differ) {
    fit.name = "permuted_weights";
    fit.what = "the weights used are those given, in other places";
  } else if (zero == differ) {
    fit.name = "weights_not_loaded";
    fit.what = fmt::format("part of the weights counts as zero (first at flat index {})", which[0]);
  } else if (fit.all_differ) {
    fit.name = "other_weights";
    fit.what = "other weights than the ones given reproduce it";
  } else {
    fit.name = "corrupt_weights";
    fit.what = fmt::format(
        "part of the weights is not the one given: uninitialised or overwritten (flat indices from {} to {})",
        *std::min_element(which.begin(), which.end()), *std::max_element(which.begin(), which.end()));
  }
  return fit;
}

}  // namespace ulpscope
