#include "harness/suggest.hpp"

#include <algorithm>

namespace ulpscope {
namespace {

// Optimal string alignment distance; both sides are short.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

constexpr std::size_t kLongestName = 200;  // beyond this nobody mistyped: keeps the table small
constexpr std::size_t kShown = 12;

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& choices) {
  if (name.empty() || name.size() > kLongestName) return "";
  std::string best;
  std::size_t best_distance = std::min(std::max<std::size_t>(1, name.size() / 3) + 1, name.size());
  for (const auto& choice : choices) {
    if (choice.size() > kLongestName) continue;
    std::size_t d = distance(name, choice);
    if (name.size() >= 3 && (choice.starts_with(name) || choice.ends_with(name))) d = 1;
    if (d < best_distance) {
      best_distance = d;
      best = choice;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& choices) {
  if (const std::string near = nearest(name, choices); !near.empty()) return ": did you mean '" + near + "'?";
  if (choices.empty()) return "";
  std::string text = ": use ";
  const std::size_t shown = std::min(choices.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return shown < choices.size() ? text + ", ..." : text;
}

}  // namespace ulpscope
