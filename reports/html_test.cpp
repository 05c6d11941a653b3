// The HTML page: what is in it, and what a real browser makes of it.
#include "reports/html.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "reference/error.hpp"
#include "reports/testing.hpp"

namespace ulpscope {
namespace {

using namespace testing_reports;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kRoot = ULPSCOPE_SOURCE_DIR;

const char* const kExplain = R"json({"schema": "ulpscope.explain/1", "outputs": 64,
 "cause": "accumulation_order", "summary": "They add in `another` order.\n\nNothing to do.",
 "ladder": [{"rung": "inputs", "status": "excluded", "note": "same"}],
 "pair": {"max_abs": 1e-6, "mean_abs": 1e-7, "violations": 3, "atol": 1e-4, "rtol": 1e-4},
 "candidate": {"verdict": "explained", "why": "a <b> plan", "plan": "fp32 | fma", "operands": "fp32",
   "max_abs": 1e-6, "ladder": [{"rung": "declared plan", "status": "confirmed", "note": "all",
                                "max_residual": 0, "equal_bits": 1}]},
 "reference": {"verdict": "unexplained", "why": "nothing", "max_abs": "inf", "ladder": []},
 "trees": {"terms": "numbered", "candidate": "((0 1) 2)", "reference": "(0 (1 2))",
           "difference": "they part"}})json";
const char* const kDrift = R"json({"schema": "ulpscope.drift/1", "cases": [{"case": "c/d",
 "summary": "Order moves it.",
 "rows": [{"arithmetic": "fma", "plan": "fp32 | fma", "max_abs": 1e-6, "mean_abs": 1e-7,
           "mean_signed": -1e-9, "bound": 1e-5, "from_first": 0},
          {"arithmetic": "fma", "plan": "fp32 | fma | pairwise", "max_abs": 1e-7, "bound": 1e-6}],
 "spreads": [{"arithmetic": "fma", "orders": 2, "observed": 1e-6, "bound": 1e-5}]}]})json";

const char* const kSelfTest = R"json({"schema": "ulpscope.self-test/1", "planted": 2, "caught": 1,
 "controls": 1, "quiet": 1, "outcomes": [
 {"area": "gate", "mistake": "a loosened budget", "by": "gate: `x`", "control": false, "good": true},
 {"area": "gate", "mistake": "a <b> row", "by": "", "control": false, "good": false},
 {"area": "gate", "mistake": "nothing", "by": "", "control": true, "good": true}]})json";

/// One of each beside the record.
HtmlExtras every_extra() {
  HtmlExtras extras;
  extras.explanations.push_back({"e.json", kExplain});
  extras.drifts.push_back({"d.json", kDrift});
  extras.self_tests.push_back({"s.json", kSelfTest});
  return extras;
}

std::string page_of(const std::string& record, const HtmlExtras& extras = {}) {
  return render_html(parse_record_view(record, "r.json"), extras);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

TEST(Html, IsOneInertFile) {
  const std::string page = page_of(nasty_record(), every_extra());
  EXPECT_THAT(page, HasSubstr("<title>ulpscope: Error, r.json</title>"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("@@")));
  for (const char* link : {" src=", "<link", "@import", "url("})
    EXPECT_THAT(page.substr(0, page.find("<script>")), Not(HasSubstr(link)));
}

TEST(Html, RefusesExtrasOfAnotherKind) {
  auto refused = [](const HtmlExtras& extras) {
    try {
      page_of(nasty_record(), extras);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  HtmlExtras drift_as_explain, explain_as_drift, wrong_type;
  drift_as_explain.explanations.push_back({"d.json", kDrift});
  explain_as_drift.drifts.push_back({"e.json", kExplain});
  wrong_type.explanations.push_back({"e.json", replaced(kExplain, "\"outputs\": 64", "\"outputs\": \"x\"")});
  EXPECT_THAT(refused(drift_as_explain), HasSubstr("'d.json' is no ulpscope.explain/1"));
  EXPECT_THAT(refused(explain_as_drift), HasSubstr("'e.json' is no ulpscope.drift/1"));
  EXPECT_THAT(refused(wrong_type), HasSubstr("e.json: 'outputs' must be a whole number"));
}

/// Runs the browser over pages; skips the test where there is no browser.
#define BROWSE(result, words)                           \
  const Ran result = ran(quoted(words));                \
  if (result.code == 77) GTEST_SKIP() << result.output; \
  std::fputs(result.output.c_str(), stdout)

/// The command that looks for planted mistakes: {step-name, what is replaced, by what} in a good page.
std::vector<std::string> planted(const std::string& folder, const std::string& good,
                                 const std::vector<std::vector<std::string>>& mistakes) {
  std::vector<std::string> words{"/usr/bin/python3", kRoot + "/reports/html/check_page.py", "--planted"};
  for (const auto& mistake : mistakes) {
    words.push_back(folder + "/" + mistake[0] + ".html");
    std::ofstream(words.back()) << replaced(good, mistake[1], mistake[2]);
  }
  return words;
}

TEST(Html, WorksInABrowser) {
  const std::string folder = fresh_folder("html");
  std::vector<std::string> words{"/usr/bin/python3", kRoot + "/reports/html/check_page.py"};
  auto add = [&](const std::string& name, const std::string& page) {
    words.push_back(folder + "/" + name);
    std::ofstream(words.back()) << page;
  };
  add("nasty.html", page_of(nasty_record(), every_extra()));
  add("recorded.html",
      render_html(read_record_view(kRoot + "/reports/recorded/h200-full/conv_transpose1d.json"), {}));
  add("explained.html", page_of(explained_record()));
  add("thousand.html", page_of(large_record(1000)));
  BROWSE(browsed, words);
  EXPECT_EQ(browsed.code, 0);
  std::filesystem::remove_all(folder);
}

// The check of the page is checked: each planted mistake must be found.
TEST(Html, BrowserFindsPlantedMistakes) {
  const std::string folder = fresh_folder("html-planted");
  const std::string good = page_of(large_record(101));
  const std::vector<std::vector<std::string>> mistakes{
      {"quiet-request", "<noscript>", "<img alt=\"x\" src=\"http://127.0.0.1:9/x.png\"><noscript>"},
      {"quiet-console", "startTable();", "startTable(); console.error('x');"},
      {"drawn-blank_chart", "return new Chart(canvas, configuration);", "return null;"},
      {"filters-filter", "words.every((w) => r.words.includes(w))", "true"},
      {"filters-findings", "(!filters.findings.checked || isFinding(r))", "true"},
      {"sorts-sort", "(a < b ? -sign : a > b ? sign : 0)", "0"},
      {"sorts-sort_words", "'aria-sort': sortOf(c)", "'aria-sort': 'none'"},
      {"details-keyboard", "view.open.delete(r.index);", "view.open.delete(r.index); button.blur(); return;"},
      {"themes-dark", "(prefers-color-scheme: dark) {\n  :root", "(prefers-color-scheme: none) {\n  :root"},
      {"pages-pages", "view.page += by;", ""},
      {"prints-print", ".filters, .pages, .skip", ".pages, .skip"},
      {"prints-ink", "dark)', 'print']", "dark)']"}};
  BROWSE(browsed, planted(folder, good, mistakes));
  EXPECT_EQ(browsed.code, 0);
  std::filesystem::remove_all(folder);
}

// axe-core, the engine that is used most, over a page with everything open; and it finds what is planted.
TEST(Html, IsAccessible) {
  const std::string folder = fresh_folder("html-axe");
  std::vector<std::string> words{"/usr/bin/python3", kRoot + "/reports/html/check_page.py", "--axe"};
  for (const auto& [name, page] : {std::pair{"nasty", page_of(nasty_record(), every_extra())},
                                   std::pair{"explained", page_of(explained_record())}}) {
    words.push_back(folder + "/" + name + ".html");
    std::ofstream(words.back()) << page;
  }
  BROWSE(browsed, words);
  EXPECT_EQ(browsed.code, 0);
  BROWSE(found, planted(folder, page_of(large_record(3)),
                        {{"axe-contrast", "--soft: #565d66", "--soft: #b9bcc0"},
                         {"axe-label", "<label>Mode <select id=\"filter-mode\"></select></label>",
                          "Mode <select id=\"filter-mode\"></select>"},
                         {"axe-name", "}, r.variant);\n  return el('tr'", "}, '');\n  return el('tr'"},
                         {"axe-chart_label", "'aria-label': caption + '. ' + label", "title: null"}}));
  EXPECT_EQ(found.code, 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ulpscope
