#include "harness/explain/flushed.hpp"

#include <bit>
#include <cmath>

#include "reference/plan.hpp"

namespace ulpscope {
namespace {

constexpr double kLeastNormal = 0x1p-126;
constexpr std::size_t kTelling = 4;  // outputs that a plan is searched for in

bool is_subnormal(double x) {
  return x != 0 && std::fabs(x) < kLeastNormal;
}

std::uint32_t flushed(std::uint32_t bits) {
  return is_subnormal(std::bit_cast<float>(bits)) ? bits & 0x80000000u : bits;
}

bool any_subnormal(const TensorView& t) {
  for (std::int64_t i = 0; t.data && i < t.size(); ++i)
    if (is_subnormal(t.at(i))) return true;
  return false;
}

// A copy whose subnormal numbers are zeros; empty for no tensor.
Tensor without_subnormals(const TensorView& t) {
  if (!t.data) return {};
  Tensor r = make_tensor(DType::f32, t.shape);
  for (std::int64_t i = 0; i < r.size(); ++i) {
    const auto x = static_cast<float>(t.at(i));
    r.as<float>()[i] = is_subnormal(x) ? std::copysign(0.0f, x) : x;
  }
  return r;
}

// The plans of `found` that give all of `y`.
std::vector<std::string> giving_all(const std::vector<std::string>& plans, const Contraction& c,
                                    const Operands& operands, const TensorView& y, int threads) {
  std::vector<std::string> kept;
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(y.size()));
  for (const std::string& text : plans) {
    replay(*parse_plan(text), c, operands, 0, y.size(), bits.data(), threads);
    bool all = true;
    for (std::int64_t i = 0; i < y.size() && all; ++i)
      all = flushed(bits[static_cast<std::size_t>(i)]) == y.bits_at(i);
    if (all) kept.push_back(text);
  }
  return kept;
}

}  // namespace

bool flushed_to_zero(double seen, double value) {
  return seen == 0 && is_subnormal(value);
}

std::optional<FlushedPlans> flushed_plans(const Contraction& c, const Operands& operands, const TensorView& y,
                                          const Truth& truth, const SearchOptions& options) {
  if (y.dtype != DType::f32) return {};
  Observation normal;
  bool results = false;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    if (is_subnormal(y.at(i))) return {};
    results |= flushed_to_zero(y.at(i), truth.value[static_cast<std::size_t>(i)]);
    if (y.at(i) == 0) continue;
    normal.outputs.push_back(i);
    normal.bits.push_back(static_cast<std::uint32_t>(y.bits_at(i)));
  }
  const bool of_operands = any_subnormal(operands.a) || any_subnormal(operands.b);
  if ((!results && !of_operands) || normal.outputs.size() < kTelling) return {};
  const Tensor a = without_subnormals(operands.a), b = without_subnormals(operands.b);
  for (const bool both : {false, true}) {
    if (both ? !of_operands : !results) continue;
    Operands used = operands;
    if (both) used.a = a.view();
    if (both && b.data) used.b = b.view();
    FlushedPlans f;
    f.found = find_plans(c, used, normal, options);
    f.found.plans = giving_all(f.found.plans, c, used, y, options.threads);
    f.what = both ? "operands and results" : "results";
    if (!f.found.plans.empty()) return f;
  }
  return {};
}

}  // namespace ulpscope
