#include "reference/plan/words.hpp"

#include <charconv>
#include <cmath>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Quoted text from outside: short, and without control characters.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 60)) out += c >= ' ' && c != 0x7f ? c : '?';
  return text.size() > 60 ? out + "..." : out;
}

}  // namespace

Words::Words(std::string_view plan, std::size_t from, std::size_t to) : plan_(plan), end_(to) {
  std::size_t i = from;
  while (i < to) {
    if (is_space(plan[i])) {
      ++i;
      continue;
    }
    std::size_t j = i + 1;  // parentheses are words of their own
    if (plan[i] != '(' && plan[i] != ')')
      while (j < to && !is_space(plan[j]) && plan[j] != '(' && plan[j] != ')') ++j;
    words_.push_back({plan.substr(i, j - i), i});
    i = j;
  }
}

const Word& Words::peek() const {
  if (done()) fail_here("the stage ends too early");
  return words_[next_];
}

bool Words::accept(std::string_view text) {
  if (done() || words_[next_].text != text) return false;
  ++next_;
  return true;
}

Word Words::take(const char* wanted) {
  if (done()) fail_here(std::string("expected ") + wanted);
  return words_[next_++];
}

std::int64_t Words::number(const char* wanted, std::int64_t low, std::int64_t high) {
  const Word w = take(wanted);
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(w.text.data(), w.text.data() + w.text.size(), v);
  if (error != std::errc() || end != w.text.data() + w.text.size())
    fail(w, std::string("expected ") + wanted + ", a whole number");
  if (v < low || v > high)
    fail(w,
         std::string(wanted) + " must lie between " + std::to_string(low) + " and " + std::to_string(high));
  return v;
}

double Words::real(const char* wanted) {
  const Word w = take(wanted);
  double v = 0;
  const auto [end, error] = std::from_chars(w.text.data(), w.text.data() + w.text.size(), v);
  if (error != std::errc() || end != w.text.data() + w.text.size() || !std::isfinite(v))
    fail(w, std::string("expected ") + wanted + ", a finite number");
  return v;
}

void Words::finish() const {
  if (!done()) fail(words_[next_], "not expected here");
}

void Words::fail(const Word& at, const std::string& message) const {
  throw Error("plan, column " + std::to_string(at.column + 1) + ", '" + shown(at.text) + "': " + message +
              " (in '" + shown(plan_) + "')");
}

void Words::fail_here(const std::string& message) const {
  throw Error("plan, column " + std::to_string(end_ + 1) + ": " + message + " (in '" + shown(plan_) + "')");
}

std::vector<Words> stages_of(std::string_view plan) {
  std::vector<Words> stages;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= plan.size(); ++i)
    if (i == plan.size() || plan[i] == '|') {
      stages.emplace_back(plan, from, i);
      from = i + 1;
    }
  return stages;
}

}  // namespace ulpscope
