#include "harness/explain/side_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace ulpscope {
namespace {

constexpr const char* kOperands[] = {"fp32", "tf32_rne", "tf32_rna", "tf32_rz", "bf16", "fp16"};

// Sums in double are no library's plan, but a common way to write a reference kernel: tried before the long
// search, and taken only where a plain chain does not fit as well.
std::optional<SearchResult> double_sums(const Contraction& c, const Operands& operands, const TensorView& y,
                                        int threads) {
  if (y.dtype != DType::f32) return {};
  SearchOptions options;
  options.threads = threads;
  options.seconds = 0;
  for (const char* o : kOperands)
    for (const char* arithmetic : {"fma", "fma fp64"})
      options.hints.push_back(fmt::format("{} | {}", o, arithmetic));
  SearchResult found = find_plans(c, operands, observe(y), options);
  const bool all_double = std::all_of(found.plans.begin(), found.plans.end(), [](const std::string& plan) {
    return plan.find("fp64") != std::string::npos;
  });
  if (found.plans.empty() || !all_double) return {};
  return found;
}

// What the family leaves out: separate products, narrow, wide and compensated accumulators, operands in
// several parts, short sums in a shuffled order.
std::vector<std::string> hand_made(const Contraction& c) {
  std::vector<std::string> plans;
  for (const char* o : kOperands)
    for (const char* arithmetic : {"fma", "mul_add", "fma fp64", "mul_add fp32 fp64", "fma fp16",
                                   "mul_add fp16", "fma bf16", "mul_add bf16", "kahan"})
      plans.push_back(fmt::format("{} | {}", o, arithmetic));
  for (const char* o : {"bf16", "tf32_rna", "tf32_rne", "fp16"})
    for (const char* arithmetic : {"fma", "mul_add", "kahan", "fma fp64", "block 8 frac 25 rz"})
      plans.push_back(fmt::format("{} passes lo*hi hi*lo hi*hi | {}", o, arithmetic));
  if (c.terms() <= 4)
    for (int seed = 1; seed <= 12; ++seed)
      plans.push_back(fmt::format("fp32 | fma | order shuffle {}", seed));
  std::string order;
  for (const RedAxis& axis : c.red) order += axis.name + " ";
  plans.push_back("fp32 | fma | order " + order + "reversed");
  return plans;
}

// Formats that hold the operands as they are.
std::vector<OperandFormat> keeping(const Operands& operands) {
  std::vector<OperandFormat> formats;
  for (const OperandFormat f :
       {OperandFormat::fp32, OperandFormat::tf32_rne, OperandFormat::bf16, OperandFormat::fp16})
    if (same_data(operands.a, f, OperandFormat::fp32) && same_data(operands.b, f, OperandFormat::fp32))
      formats.push_back(f);
  return formats;
}

}  // namespace

bool tipped_only(const Contraction& c, const TensorView& y, const Truth& truth) {
  if (y.dtype == DType::f32) return false;
  std::int64_t differ = 0;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (y.bits_at(i) == truth.rounded[at]) continue;
    ++differ;
    const double s = truth.magnitude[at] / std::abs(c.divisor);
    if (!(std::abs(y.at(i) - truth.value[at]) <= admissible_error(c.terms(), s, truth.value[at], truth.out)))
      return false;
  }
  // Operands shortened in earnest tip more: by a part in 2^12, one 16-bit result in ten.
  return differ > 0 && differ <= std::max<std::int64_t>(2, y.size() / 100);
}

SearchResult search_plans(const Contraction& c, const Operands& operands, const TensorView& y, bool tipped,
                          const SearchOptions& options) {
  if (tipped) {
    SearchOptions plain = options;
    plain.operands = keeping(operands);
    plain.hints.clear();
    if (SearchResult found = find_plans(c, operands, observe(y), plain); !found.plans.empty()) return found;
  }
  if (auto found = double_sums(c, operands, y, options.threads)) return *found;
  SearchResult found = find_plans(c, operands, observe(y), options);
  if (!found.plans.empty() || c.outputs() * c.terms() > (std::int64_t{1} << 24)) return found;
  SearchOptions other = options;
  other.seconds = 0;  // hints only
  const auto more_hints = hand_made(c);
  other.hints.insert(other.hints.end(), more_hints.begin(), more_hints.end());
  const SearchResult more = find_plans(c, operands, observe(y), other);
  found.candidates += more.candidates;
  if (!more.plans.empty()) {
    found.plans = more.plans;
    found.unique = more.unique;
    found.best_share = 1;
  } else if (more.best_share > found.best_share) {
    found.best_share = more.best_share;
    found.best_plan = more.best_plan;
  }
  return found;
}

bool some_order_gives(const std::string& text, const Contraction& c, const Operands& operands,
                      const TensorView& y) {
  if (text.empty()) return false;
  const auto plan = parse_plan(text);
  const std::int64_t all = y.size(), n = std::min<std::int64_t>(all, 2048);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t o = i * (all / n) + (n == all ? 0 : (i * 7919) % (all / n));
    if (!reachable(*plan, c, operands, o, static_cast<std::uint32_t>(y.bits_at(o)))) return false;
  }
  return true;
}

std::vector<std::string> plans_of_batch(std::int64_t rows) {
  std::string seen = rows == 1     ? "lanes 16 seq | chunks 32 seq"
                     : rows <= 8   ? "lanes 16 seq | chunks 16 seq"
                     : rows <= 128 ? "lanes 8 every 8 seq"
                                   : "lanes 2 every 8 seq";
  return {"fp32 | fma | " + seen};
}

}  // namespace ulpscope
