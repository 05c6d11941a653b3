#include "kernels/support/registry.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr std::array<std::pair<Mode, const char*>, 5> kModes{{{Mode::fp32, "fp32"},
                                                              {Mode::tf32, "tf32"},
                                                              {Mode::strict, "strict"},
                                                              {Mode::bf16, "bf16"},
                                                              {Mode::fp16, "fp16"}}};

// A function-local static: registration runs during static initialisation, in any order.
std::vector<Variant>& unsorted() {
  static std::vector<Variant> list;
  return list;
}

}  // namespace

const char* to_string(Mode mode) {
  for (auto& [m, name] : kModes)
    if (m == mode) return name;
  return "?";
}

Mode parse_mode(std::string_view name) {
  for (auto& [m, n] : kModes)
    if (name == n) return m;
  throw Error("unknown mode '" + std::string(name) + "': use fp32, tf32, strict, bf16 or fp16");
}

Register::Register(Variant v) {
  unsorted().push_back(std::move(v));
}

Register::Register(Variant v, const std::vector<std::string>& ops) {
  for (auto& op : ops) {
    v.op = op;
    unsorted().push_back(v);
  }
}

std::string declared_plan(const Variant& variant, const Problem& problem, Mode mode, DType out) {
  std::string plan = variant.plan ? variant.plan(problem, mode) : "";
  if (!plan.empty() && out != DType::f32 && plan.find("| out ") == std::string::npos)
    plan += std::string(" | out ") + name_of(out);
  return plan;
}

const std::vector<Variant>& variants() {
  static const std::vector<Variant> sorted = [] {
    std::vector<Variant> list = unsorted();
    auto key = [](const Variant& v) { return std::tie(v.op, v.name); };
    std::sort(list.begin(), list.end(), [&](auto& x, auto& y) { return key(x) < key(y); });
    auto twin =
        std::adjacent_find(list.begin(), list.end(), [&](auto& x, auto& y) { return key(x) == key(y); });
    if (twin != list.end())
      throw Error("variant '" + twin->name + "' of " + twin->op + " is registered twice (" + twin->source +
                  ", " + std::next(twin)->source + "): rename one");
    return list;
  }();
  return sorted;
}

std::vector<const Variant*> variants_of(std::string_view op) {
  std::vector<const Variant*> found;
  for (auto& v : variants())
    if (v.op == op) found.push_back(&v);
  return found;
}

}  // namespace ulpscope
