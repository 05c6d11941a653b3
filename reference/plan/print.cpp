// Plan -> its canonical text, which parses back to the same plan.
#include <fmt/format.h>

#include <algorithm>

#include "reference/plan.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {
namespace {

const char* part_name(int part, int parts) {
  return part == 0 ? "hi" : part == 1 && parts == 3 ? "mid" : "lo";
}

std::string operands_text(const OperandRule& r) {
  std::string text = r.a == r.b ? info(r.a).name : fmt::format("a {} b {}", info(r.a).name, info(r.b).name);
  if (!r.passes.empty()) text += " passes";
  for (const Pass& p : r.passes)
    text += fmt::format(" {}*{}", part_name(p.a, r.parts()), part_name(p.b, r.parts()));
  return text;
}

std::string arithmetic_text(const Arithmetic& a) {
  std::string text = to_string(a.step);
  switch (a.step) {
    case Step::fma:
      if (a.accumulator != DType::f32) text += fmt::format(" {}", name_of(a.accumulator));
      break;
    case Step::mul_add:
      if (a.product != a.accumulator)
        text += fmt::format(" {} {}", name_of(a.product), name_of(a.accumulator));
      else if (a.accumulator != DType::f32)
        text += fmt::format(" {}", name_of(a.accumulator));
      break;
    case Step::kahan:
    case Step::kahan_fma:
      break;
    case Step::block:
      text += fmt::format(" {} frac {} {}", a.block.terms, a.block.frac,
                          a.block.rounding == StepRounding::rz ? "rz" : "rne");
      if (a.block.keep != 23) text += fmt::format(" keep {}", a.block.keep);
      if (a.block.floor != -133) text += fmt::format(" floor {}", a.block.floor);
      if (a.block.accumulator != DType::f32) text += fmt::format(" acc {}", name_of(a.block.accumulator));
      break;
  }
  return text;
}

void node_text(const std::vector<ExplicitNode>& tree, int at, std::string& text) {
  const ExplicitNode& n = tree[static_cast<std::size_t>(at)];
  if (n.children.empty()) {
    text += std::to_string(n.leaf);
    return;
  }
  for (std::size_t i = 0; i < n.children.size(); ++i) {
    text += i ? ' ' : '(';
    node_text(tree, n.children[i], text);
  }
  text += ')';
}

std::string order_text(const Order& o) {
  std::string text;
  switch (o.kind) {
    case OrderKind::canonical:
      if (!o.reversed) return "";
      text = " | order";
      break;
    case OrderKind::shuffle:
      text = fmt::format(" | order shuffle {}", o.seed);
      break;
    case OrderKind::tree:
      text = " | order tree ";
      node_text(o.tree, 0, text);
      break;
    case OrderKind::nest:
      text = " | order";
      for (const OrderAxis& a : o.axes) {
        text += fmt::format(" {}{}", a.descending ? "-" : "", a.name);
        if (a.chunk) text += fmt::format("/{}{}", a.chunk, a.residue_first ? "r" : "");
      }
      break;
  }
  return text + (o.reversed ? " reversed" : "");
}

std::string level_text(const Level& l) {
  std::string text;
  switch (l.divide) {
    case Divide::chunks:
      text = fmt::format(" | chunks {}", l.count);
      break;
    case Divide::lanes:
      text = fmt::format(" | lanes {}", l.count);
      if (l.unit != 1) text += fmt::format(" every {}", l.unit);
      if (l.restart) text += fmt::format(" restart {}", l.restart);
      break;
    case Divide::tiles:
      text = fmt::format(" | tiles {}", l.count);
      break;
    case Divide::split:
      text = fmt::format(" | split {}", l.count);
      if (l.outermost)
        text += " of " + l.axis;
      else if (l.unit != 1)
        text += fmt::format(" align {}", l.unit);
      if (l.balanced) text += " balanced";
      break;
  }
  text += fmt::format(" {}", to_string(l.join));
  if (l.in) text += fmt::format(" in {}", name_of(*l.in));
  if (l.as) text += fmt::format(" as {}", name_of(*l.as));
  if (l.kept) text += fmt::format(" kept {}", name_of(*l.kept));
  return text;
}

}  // namespace

int OperandRule::parts() const {
  int most = 0;
  for (const Pass& p : passes) most = std::max({most, p.a, p.b});
  return most + 1;
}

bool is_unordered(const Plan& plan) {
  return std::any_of(plan.levels.begin(), plan.levels.end(),
                     [](const Level& l) { return l.join == Join::unordered; });
}

bool has_tiles(const Plan& plan) {
  return !plan.levels.empty() && plan.levels[0].divide == Divide::tiles;
}

const char* to_string(Step step) {
  constexpr const char* kNames[] = {"fma", "mul_add", "kahan", "kahan_fma", "block"};
  return kNames[static_cast<int>(step)];
}

const char* to_string(Join join) {
  constexpr const char* kNames[] = {"seq", "reverse", "tree", "butterfly", "recursive", "unordered"};
  return kNames[static_cast<int>(join)];
}

std::string to_string(const Plan& plan) {
  std::string text = operands_text(plan.operands) + " | " + arithmetic_text(plan.arithmetic);
  text += order_text(plan.order);
  for (const Level& l : plan.levels) text += level_text(l);
  if (plan.residue) text += fmt::format(" | residue {}", plan.residue);
  if (plan.interleave.steps > 1)
    text += fmt::format(" | interleave {} every {}", plan.interleave.steps, plan.interleave.run);
  if (plan.alpha) text += fmt::format(" | alpha {}", *plan.alpha);
  if (plan.beta) text += fmt::format(" | beta {}", *plan.beta);
  if (plan.bias != BiasPlace::last) text += plan.bias == BiasPlace::first ? " | bias first" : " | bias after";
  if (plan.mean == MeanRule::reciprocal) text += " | mean reciprocal";
  if (plan.out != DType::f32) text += fmt::format(" | out {}", name_of(plan.out));
  return text;
}

}  // namespace ulpscope
