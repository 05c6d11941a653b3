#include "reference/probe/bench.hpp"

#include <algorithm>
#include <cstring>

#include "reference/error.hpp"
#include "reference/terms.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kMostTried = 1 << 17;  // outputs looked at when places are chosen

Tensor zeros(DType dtype, std::int64_t n) {
  Tensor t = make_tensor(dtype, {n});
  std::memset(t.data.get(), 0, t.view().bytes());
  return t;
}

void put(Tensor& t, std::int64_t i, float value) {
  const std::uint64_t bits = round_to_bits(t.dtype, static_cast<double>(value));
  const auto each = static_cast<std::size_t>(size_of(t.dtype));
  std::memcpy(static_cast<char*>(t.data.get()) + static_cast<std::size_t>(i) * each, &bits, each);
}

bool moves_a(const Contraction& c, std::size_t axis) {
  if (c.out[axis].a_stride != 0) return true;
  return std::any_of(c.red.begin(), c.red.end(),
                     [&](const RedAxis& r) { return r.coupling.out_axis == static_cast<int>(axis); });
}
bool moves_b(const Contraction& c, std::size_t axis) {
  return !c.b_is_ones && c.out[axis].b_stride != 0;
}

}  // namespace

ProbeBench::ProbeBench(const ProbeTarget& target, std::int64_t max_rows, std::int64_t max_columns)
    : target_(target) {
  const Contraction& c = target_.contraction;
  terms_ = c.terms();
  if (terms_ < 1 || terms_ > (1 << 24))
    throw Error("probe: an output has " + std::to_string(terms_) + " terms: choose a case with 1 to 2^24");
  // The middle of the output is the likeliest place without missing taps.
  const std::int64_t n = c.outputs();
  base_ = -1;
  for (std::int64_t i = 0; i < std::min(n, kMostTried) && base_ < 0; ++i) {
    const std::int64_t o = (n / 2 + i) % n;
    if (std::ssize(terms_of(c, o)) == terms_) base_ = o;
  }
  if (base_ < 0)
    throw Error("probe: no output of this problem has all its terms: use less padding, or a larger input");
  a_ = zeros(target_.in, c.a_size);
  b_ = zeros(target_.in, std::max<std::int64_t>(c.b_size, 1));
  operands_ = {a_.view(), b_.view(), {}};
  if (c.has_bias) {
    bias_ = zeros(DType::f32, c.bias_size);
    operands_.bias = bias_.view();
  }
  bits_.resize(static_cast<std::size_t>(n));
  choose(true, max_rows, rows_);
  choose(false, max_columns, columns_);
}

std::vector<Term> ProbeBench::complete_terms(std::int64_t output) const {
  std::vector<Term> terms = terms_of(target_.contraction, output);
  if (std::ssize(terms) != terms_) terms.clear();
  return terms;
}

// Outputs along the axes that move one operand only, the others fixed at the base, such that no two share an
// element.
void ProbeBench::choose(bool a_side, std::int64_t most, std::vector<Place>& places) {
  const Contraction& c = target_.contraction;
  const auto base = out_coordinates(c, base_);
  std::vector<std::int64_t> stride(c.out.size(), 1);
  for (std::size_t x = c.out.size(); x-- > 1;) stride[x - 1] = stride[x] * c.out[x].size;
  std::vector<std::size_t> axes;
  std::int64_t positions = 1;
  for (std::size_t x = 0; x < c.out.size(); ++x)
    if (moves_a(c, x) == a_side && moves_b(c, x) != a_side) {
      axes.push_back(x);
      positions *= c.out[x].size;
    }
  std::vector<bool> used(static_cast<std::size_t>(a_side ? c.a_size : std::max<std::int64_t>(c.b_size, 1)));
  for (std::int64_t p = 0; p < std::min(positions, kMostTried) && std::ssize(places) < most; ++p) {
    std::int64_t output = base_, share = 0, rest = p;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const std::int64_t at = rest % c.out[axes[i]].size;
      rest /= c.out[axes[i]].size;
      output += (at - base[axes[i]]) * stride[axes[i]];
    }
    share = output - base_;
    Place place{share, {}};
    for (const Term& t : complete_terms(output)) place.element.push_back(a_side ? t.a : t.b);
    const auto taken = [&](std::int64_t e) { return static_cast<bool>(used[static_cast<std::size_t>(e)]); };
    const bool ones = !a_side && c.b_is_ones;
    if (place.element.empty() || (!ones && std::any_of(place.element.begin(), place.element.end(), taken)))
      continue;
    if (!ones)
      for (const std::int64_t e : place.element) used[static_cast<std::size_t>(e)] = true;
    places.push_back(std::move(place));
  }
}

std::int64_t ProbeBench::launches_for(std::int64_t a_patterns, std::int64_t b_patterns) const {
  return ((a_patterns + rows() - 1) / rows()) * ((b_patterns + columns() - 1) / columns());
}

void ProbeBench::run_all(const Operands& operands, std::uint32_t* bits) {
  ++launches_;
  target_.run(operands, bits);
}

std::vector<double> ProbeBench::run(std::span<const Pattern> a, std::span<const Pattern> b) {
  std::vector<double> results(a.size() * b.size());
  const auto row_count = static_cast<std::size_t>(rows()), column_count = static_cast<std::size_t>(columns());
  auto fill = [&](Tensor& t, const std::vector<Place>& places, std::span<const Pattern> patterns) {
    std::memset(t.data.get(), 0, t.view().bytes());
    for (std::size_t i = 0; i < patterns.size(); ++i)
      for (std::size_t k = 0; k < patterns[i].size(); ++k)
        if (patterns[i][k] != 0) put(t, places[i].element[k], patterns[i][k]);
  };
  for (std::size_t i = 0; i < a.size(); i += row_count) {
    const auto rows_now = a.subspan(i, std::min(row_count, a.size() - i));
    fill(a_, rows_, rows_now);
    for (std::size_t j = 0; j < b.size(); j += column_count) {
      const auto columns_now = b.subspan(j, std::min(column_count, b.size() - j));
      if (has_second_operand()) fill(b_, columns_, columns_now);
      run_all(operands_, bits_.data());
      for (std::size_t r = 0; r < rows_now.size(); ++r)
        for (std::size_t s = 0; s < columns_now.size(); ++s)
          results[(i + r) * b.size() + j + s] = value_of_bits(
              target_.out, bits_[static_cast<std::size_t>(base_ + rows_[r].output + columns_[s].output)]);
    }
  }
  return results;
}

}  // namespace ulpscope
