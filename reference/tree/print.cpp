#include <fmt/format.h>

#include "reference/tree/tree.hpp"

namespace ulpscope {
namespace {

// Nested lists without recursion: chains of thousands of terms are as deep as they are long.
std::string nested(const SummationTree& tree, char open, const char* between, char close) {
  struct Frame {
    int node;
    std::size_t next;
  };
  std::string text;
  if (tree.nodes.empty()) return text;
  std::vector<Frame> stack{{tree.root(), 0}};
  while (!stack.empty()) {
    Frame& f = stack.back();
    const TreeNode& n = tree.nodes[static_cast<std::size_t>(f.node)];
    if (n.children.empty()) {
      text += std::to_string(n.term);
      stack.pop_back();
    } else if (f.next == n.children.size()) {
      text += close;
      stack.pop_back();
    } else {
      if (f.next == 0)
        text += open;
      else
        text += between;
      stack.push_back({n.children[f.next++], 0});
    }
  }
  return text;
}

}  // namespace

std::string to_text(const SummationTree& tree) {
  return nested(tree, '(', " ", ')');
}

std::string to_json(const SummationTree& tree) {
  const std::string body = nested(tree, '[', ",", ']');
  return fmt::format(R"({{"leaves":{},"tree":{}}})", tree.leaves(), body.empty() ? "[]" : body);
}

std::string to_dot(const SummationTree& tree, std::span<const std::string> names) {
  std::string text = "digraph sum {\n  rankdir=BT;\n  node [shape=circle, label=\"+\"];\n";
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& n = tree.nodes[i];
    if (n.kind == NodeKind::leaf) {
      const auto term = static_cast<std::size_t>(n.term);
      std::string label = term < names.size() ? names[term] : std::to_string(n.term);
      for (std::size_t at = 0; (at = label.find_first_of("\"\\", at)) != std::string::npos; at += 2)
        label.insert(at, 1, '\\');
      text += fmt::format("  n{} [shape=plaintext, label=\"{}\"];\n", i, label);
    } else if (n.children.size() > 2) {
      text += fmt::format("  n{} [shape=box, label=\"fused {}\"];\n", i, n.children.size());
    } else if (n.kind == NodeKind::accumulate) {
      text += fmt::format("  n{} [shape=box];\n", i);
    }
    for (const int child : n.children) text += fmt::format("  n{} -> n{};\n", child, i);
  }
  return text + "}\n";
}

}  // namespace ulpscope
