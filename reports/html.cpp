#include "reports/html.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "reports/html_data.hpp"
#include "reports/html_parts.hpp"
#include "reports/words.hpp"

namespace ulpscope {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

/// JSON inside a script element: no '<', so nothing that ends the element or opens a comment.
std::string inert(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string class_of(const std::string& headline_word) {
  if (headline_word == "Pass") return "pass";
  if (headline_word == "Fail") return "fail";
  return headline_word == "Error" ? "error" : "finding";
}

/// The template's @@NAME@@ replaced in one pass: what is put in is not searched again.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string out;
  while (!page.empty()) {
    const std::size_t from = page.find("@@");
    const std::size_t to = from == page.npos ? page.npos : page.find("@@", from + 2);
    out += page.substr(0, from);
    if (to == page.npos) break;
    for (const auto& [name, text] : parts)
      if (page.substr(from + 2, to - from - 2) == name) out += text;
    page.remove_prefix(to + 2);
  }
  return out;
}

}  // namespace

std::string render_html(const RecordView& record, const HtmlExtras& extras) {
  const Headline h = headline(record);
  const std::string name = std::filesystem::path(record.name).filename().string();
  return filled(html::kPage, {{"TITLE", escaped("ulpscope: " + h.word + ", " + name)},
                              {"STYLE", std::string(html::kStyle)},
                              {"WORD_CLASS", class_of(h.word)},
                              {"WORD", escaped(h.word)},
                              {"SENTENCE", escaped(h.sentence)},
                              {"DATA", inert(html::page_data(record, extras).dump())},
                              {"CHART", std::string(html::kChart)},
                              {"SCRIPT", std::string(html::kScript)}});
}

}  // namespace ulpscope
