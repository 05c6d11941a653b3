#include "harness/explain/trees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "reference/plan.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kMostTerms = 1 << 16;
constexpr std::size_t kMostLines = 40;

class Drawing {
 public:
  Drawing(const SummationTree& tree, const std::vector<NamedExtent>& axes) : tree_(tree), axes_(axes) {}

  std::string take() {
    if (tree_.nodes.empty()) return "no terms\n";
    draw(tree_.root(), 0);
    return text_;
  }

 private:
  const SummationTree& tree_;
  const std::vector<NamedExtent>& axes_;
  std::string text_;
  std::size_t lines_ = 0;

  const TreeNode& node(int i) const { return tree_.nodes[static_cast<std::size_t>(i)]; }
  bool is_leaf(int i) const { return node(i).kind == NodeKind::leaf; }
  std::string name(int leaf) const { return term_name(node(leaf).term, axes_, tree_.passes); }

  void line(int indent, const std::string& words) {
    if (++lines_ < kMostLines)
      text_ += std::string(static_cast<std::size_t>(2 * indent), ' ') + words + "\n";
    else if (lines_ == kMostLines)
      text_ += "(and so on)\n";
  }

  /// "a, b, c, ..., y, z": the first few and the last two.
  template <class Item>
  static std::string listed(const std::vector<Item>& items, const char* between, const auto& word) {
    constexpr std::size_t kFirst = 6, kLast = 2;
    std::string words;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const bool gap = items.size() > kFirst + kLast + 1 && i == kFirst;
      if (gap) i = items.size() - kLast;
      words += (words.empty() ? "" : between) + (gap ? std::string("...") + between : "") + word(items[i]);
    }
    return words;
  }

  std::string step_words(const std::vector<int>& leaves) const {
    if (leaves.size() == 1) return name(leaves[0]);
    return "{" + listed(leaves, ", ", [this](int leaf) { return name(leaf); }) + "}";
  }

  /// A run of accumulations onto one register, or of additions of one product each, in their order; `at`
  /// becomes what they start from, or -1.
  std::vector<std::vector<int>> chain_from(int& at) const {
    std::vector<std::vector<int>> steps;
    while (at >= 0 && !is_leaf(at)) {
      const TreeNode& n = node(at);
      const bool has_sum = !is_leaf(n.children[0]);
      std::vector<int> products(n.children.begin() + (has_sum ? 1 : 0), n.children.end());
      if (!std::all_of(products.begin(), products.end(), [this](int c) { return is_leaf(c); })) break;
      steps.push_back(std::move(products));
      at = has_sum ? n.children[0] : -1;
    }
    std::reverse(steps.begin(), steps.end());
    // A chain of single products begins with two of them in one node.
    const auto single = [](const std::vector<int>& s) { return s.size() == 1; };
    if (!steps.empty() && steps[0].size() == 2 && std::all_of(steps.begin() + 1, steps.end(), single)) {
      steps.insert(steps.begin(), {steps[0][0]});
      steps[1].erase(steps[1].begin());
    }
    return steps;
  }

  void draw(int at, int indent) {
    if (lines_ > kMostLines) return;
    if (is_leaf(at)) return line(indent, name(at));
    const std::vector<std::vector<int>> steps = chain_from(at);
    if (!steps.empty()) {
      const bool blocks = std::any_of(steps.begin(), steps.end(), [](auto& s) { return s.size() > 1; });
      line(indent,
           fmt::format("{} {}{}: {}", steps.size(), blocks ? "block steps" : "terms one after another",
                       at >= 0 ? ", onto the sum below" : "",
                       listed(steps, blocks ? " then " : " + ",
                              [this](const std::vector<int>& s) { return step_words(s); })));
      if (at >= 0) draw(at, indent + 1);
      return;
    }
    // Sums joined in turn, ((p0 + p1) + p2) + ..., are one list.
    std::vector<int> parts;
    int left = at;
    while (!is_leaf(left) && node(left).kind == NodeKind::add) {
      const std::vector<int>& children = node(left).children;
      for (std::size_t i = children.size(); i-- > 1;) parts.push_back(children[i]);
      left = children[0];
      int probe = left;
      if (!is_leaf(left) && !chain_from(probe).empty()) break;  // a chain of its own, not another joined sum
    }
    if (parts.empty()) {  // an accumulation of sums: children in their order
      parts.assign(node(at).children.rbegin(), node(at).children.rend());
    } else {
      parts.push_back(left);
    }
    std::reverse(parts.begin(), parts.end());
    line(indent, fmt::format("{} partial sums, joined in turn", parts.size()));
    for (const int part : parts) draw(part, indent + 1);
  }
};

std::optional<SummationTree> tree_of_side(const SideReport& s, const std::vector<NamedExtent>& axes) {
  if (!s.plan) return std::nullopt;
  const auto plan = parse_plan(*s.plan);
  if (is_unordered(*plan)) return std::nullopt;
  return tree_of(*plan, axes);
}

}  // namespace

std::string term_name(std::int64_t term, const std::vector<NamedExtent>& axes, int passes) {
  std::string name;
  if (passes > 1) name = fmt::format(" pass {}", term % passes);
  term /= passes;
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (axes[i].size == 1) continue;
    name = fmt::format("{}{}", axes[i].name, term % axes[i].size) +
           (name.empty() || name[0] == ' ' ? "" : " ") + name;
    term /= axes[i].size;
  }
  return name.empty() ? "the only term" : name;
}

std::string drawing_of(const SummationTree& tree, const std::vector<NamedExtent>& axes) {
  return Drawing(tree, axes).take();
}

nlohmann::json trees_of(const Explanation& e, const std::vector<NamedExtent>& axes) {
  std::int64_t terms = 1;
  std::string extents;
  for (const NamedExtent& a : axes) {
    terms *= a.size;
    if (a.size > 1) extents += fmt::format("{}{} (0 to {})", extents.empty() ? "" : ", ", a.name, a.size - 1);
  }
  if (terms > kMostTerms) return nullptr;
  const auto candidate = tree_of_side(e.candidate, axes);
  const auto reference = e.reference ? tree_of_side(*e.reference, axes) : std::nullopt;
  if (!candidate && !reference) return nullptr;
  nlohmann::json j{
      {"terms", "An output that misses no term sums " + std::to_string(terms) +
                    (extents.empty() ? "." : ", named by their place on the axes " + extents + ".")},
      {"candidate", nullptr},
      {"reference", nullptr},
      {"same", nullptr},
      {"difference", "Only one side's order is known."}};
  if (candidate) j["candidate"] = drawing_of(*candidate, axes);
  if (reference) j["reference"] = drawing_of(*reference, axes);
  if (!candidate || !reference) return j;
  const TreeDifference d = compare(*candidate, *reference);
  j["same"] = d.same;
  auto names = [&](const std::vector<std::int64_t>& leaves, int passes) {
    std::string words;
    for (std::size_t i = 0; i < leaves.size() && i < 8; ++i)
      words += (i ? " + " : "") + term_name(leaves[i], axes, passes);
    return words + (leaves.size() > 8 ? " + ..." : "");
  };
  if (d.same)
    j["difference"] = "Both sides form the same partial sums.";
  else if (d.first.empty() && d.second.empty())
    j["difference"] = "They cannot be laid side by side: " + d.text + ".";
  else {
    std::string text = fmt::format("{} partial sums are formed by both.", d.shared);
    if (!d.first.empty())
      text += " The smallest that only the candidate forms: " + names(d.first, candidate->passes) + ".";
    if (!d.second.empty())
      text += " The smallest that only the reference forms: " + names(d.second, reference->passes) + ".";
    j["difference"] = text;
  }
  return j;
}

}  // namespace ulpscope
