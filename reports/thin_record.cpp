#include "reports/thin_record.hpp"

namespace ulpscope {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

/// Just behind the string that begins at `at`, a quote; the text's end if it has none.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    at = text.find_first_of("\\\"", at);
    if (at == text.npos) return text.size();
    if (text[at] == '"') return at + 1;
    ++at;  // what is escaped
  }
  return text.size();
}

/// Just behind the object or list that begins at `at`.
std::size_t behind_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while ((at = text.find_first_of("{}[]\"", at)) != text.npos) {
    if (text[at] == '"') {
      at = behind_string(text, at);
      continue;
    }
    depth += text[at] == '{' || text[at] == '[' ? 1 : -1;
    ++at;
    if (depth == 0) return at;
  }
  return text.size();
}

}  // namespace

std::string without_explanations(std::string_view text) {
  std::string kept;
  std::size_t copied = 0, at = 0;
  while ((at = text.find('"', at)) != text.npos) {
    const std::size_t end = behind_string(text, at);
    const std::string_view word = text.substr(at, end - at);
    const std::size_t colon = text.find_first_not_of(kBlank, end);
    at = end;
    if ((word != "\"explanation\"" && word != "\"cases\"") || colon == text.npos || text[colon] != ':')
      continue;
    const std::size_t value = text.find_first_not_of(kBlank, colon + 1);
    if (value == text.npos || (text[value] != '{' && text[value] != '[')) continue;
    kept += text.substr(copied, value - copied);
    kept += "null";
    at = copied = behind_value(text, value);
  }
  return kept += text.substr(copied);
}

}  // namespace ulpscope
