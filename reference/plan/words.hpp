#pragma once
// The words of a plan's text with their columns, so that an error can point at one.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope {

struct Word {
  std::string_view text;
  std::size_t column = 0;  // 0-based
};

/// One stage's words, read from the left.
class Words {
 public:
  Words(std::string_view plan, std::size_t from, std::size_t to);

  bool done() const { return next_ == words_.size(); }
  const Word& peek() const;  // throws if there is none
  bool accept(std::string_view text);
  Word take(const char* wanted);  // throws naming what was wanted
  std::int64_t number(const char* wanted, std::int64_t low, std::int64_t high);
  double real(const char* wanted);
  void finish() const;  // throws if words are left over

  [[noreturn]] void fail(const Word& at, const std::string& message) const;
  [[noreturn]] void fail_here(const std::string& message) const;

 private:
  std::string_view plan_;
  std::size_t end_;
  std::vector<Word> words_;
  std::size_t next_ = 0;
};

/// The stages of a plan: what lies between the bars.
std::vector<Words> stages_of(std::string_view plan);

}  // namespace ulpscope
