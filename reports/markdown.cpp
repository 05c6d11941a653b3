// Markdown (GitHub's and GitLab's) of a record.
#include <fmt/format.h>

#include <algorithm>

#include "reports/render.hpp"
#include "reports/words.hpp"

namespace ulpscope {
namespace {

/// Text that stays text in a cell: no markup, no end of the cell, no mention of a user, no HTML.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == '\t')
      out += ' ';
    else if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '@')
      out += "@\xE2\x80\x8B";  // a zero-width space: nobody is notified
    else if (std::string_view("\\|`*_[]>~#").find(c) != std::string_view::npos)
      out += {'\\', c};
    else
      out += c;
  }
  return out;
}

/// Code in a cell: bars escaped (tables split at them even in code), a longer fence than any within.
std::string code(const std::string& text) {
  if (text.empty()) return "";
  std::size_t longest = 0, run = 0;
  std::string inside;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    if (c == '|')
      inside += "\\|";
    else
      inside += c == '\n' || c == '\r' ? ' ' : c;
  }
  const std::string fence(longest + 1, '`');
  const std::string pad = longest > 0 ? " " : "";
  return fence + pad + inside + pad + fence;
}

constexpr std::string_view kTableHead =
    "| case | variant | mode | max error | bound | of bound | verdict |\n"
    "| --- | --- | --- | ---: | ---: | ---: | --- |\n";

std::string row(const ResultView& r) {
  const std::string verdict = standing(r) == Standing::unverified ? "unverified" : to_string(r.verdict);
  const std::string where = r.executed == "replay" ? " (replay, not a device)" : "";
  return fmt::format("| {} | {} | {} | {} | {} | {} | {}{} |\n", cell(r.test), cell(r.variant),
                     cell(mode_words(r)), figure(max_error_of(r)), figure(r.bound), figure(headroom_of(r)),
                     verdict, where);
}

std::string finding(const ResultView& r) {
  const std::string verdict = standing(r) == Standing::unverified ? "unverified" : to_string(r.verdict);
  std::string text = fmt::format("- **{}** {} ({}) on {}: {}\n", verdict, cell(r.variant),
                                 cell(mode_words(r)), cell(r.test), cell(reason_of(r)));
  if (!r.source.empty()) text += "  at " + code(r.source) + "\n";
  if (!r.reproduce.empty()) text += "  reproduce: " + code(r.reproduce) + "\n";
  return text;
}

/// Appends rows while they fit; the rest is counted.
class Writer {
 public:
  explicit Writer(std::size_t limit) : limit_(limit) {}
  bool fits(std::size_t n) const { return text_.size() + n <= limit_; }
  void always(std::string_view s) { text_ += s; }
  template <class Rows, class Render>
  void rows(const Rows& list, std::string_view head, std::string_view foot, const char* what,
            const Render& render) {
    constexpr std::size_t kTail = 180;  // room for the foot and the line that says what was cut
    if (list.empty()) return;
    std::size_t shown = 0;
    std::string part(head);
    for (const ResultView* r : list) {
      const std::string one = render(*r);
      if (!fits(part.size() + one.size() + kTail)) break;
      part += one;
      ++shown;
    }
    if (shown > 0) text_ += part += foot;
    if (shown < list.size())
      text_ += fmt::format("\n{} of {} {} are not shown here: the HTML report has all.\n",
                           list.size() - shown, list.size(), what);
    text_ += "\n";
  }
  std::string take() { return std::move(text_); }

 private:
  std::size_t limit_;
  std::string text_;
};

std::string environment_table(const EnvironmentView& environment) {
  std::string text = "<details><summary>Environment</summary>\n\n| | |\n| --- | --- |\n";
  for (const auto& [what, value] : environment_lines(environment)) {
    const bool is_command = what == "command";
    text += fmt::format("| {} | {} |\n", cell(what), is_command ? code(value) : cell(value));
  }
  return text + "\n</details>\n";
}

}  // namespace

std::string render_markdown(const RecordView& record, std::size_t limit) {
  const Headline h = headline(record);
  std::string sentence = h.sentence;
  if (sentence.size() > 1000) {
    std::size_t end = 1000;
    while (end > 0 && (static_cast<unsigned char>(sentence[end]) & 0xC0) == 0x80) --end;  // whole characters
    sentence = sentence.substr(0, end) + " ...";
  }
  std::vector<const ResultView*> findings, table, skipped;
  for (const ResultView& r : record.results) {
    const Standing s = standing(r);
    if (is_finding(s)) findings.push_back(&r);
    (s == Standing::skip ? skipped : table).push_back(&r);
  }
  std::stable_partition(table.begin(), table.end(),
                        [](const ResultView* r) { return is_finding(standing(*r)); });

  std::string environment = environment_table(record.environment);
  if (environment.size() > limit / 4) environment.clear();  // hundreds of variables: the record has them
  Writer w(limit - environment.size());
  w.always(fmt::format("## ulpscope: {}\n\n{}\n\n", h.word, cell(sentence)));
  w.rows(findings, "", "", "findings", finding);
  w.rows(table, kTableHead, "", "results", row);
  w.rows(skipped, fmt::format("<details><summary>{} skipped</summary>\n\n", skipped.size()), "\n</details>\n",
         "skipped results", [](const ResultView& r) {
           return fmt::format("- {} ({}) on {}: {}\n", cell(r.variant), cell(r.mode), cell(r.test),
                              cell(reason_of(r)));
         });
  w.always(environment);
  return w.take();
}

}  // namespace ulpscope
