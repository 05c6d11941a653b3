// Sinks: each read back by a reader of its format, over a record that is hard on them.
#include "reports/render.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "reports/testing.hpp"
#include "reports/words.hpp"

namespace ulpscope {
namespace {

using namespace testing_reports;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSchemas = ULPSCOPE_SOURCE_DIR "/reports/schema/";

RecordView nasty() {
  return parse_record_view(nasty_record(), "nasty.json");
}

/// The record with only the results that `keep` wants.
RecordView only(const std::function<bool(const ResultView&)>& keep) {
  RecordView r = nasty();
  std::erase_if(r.results, [&](const ResultView& x) { return !keep(x); });
  return r;
}

TEST(Headline, SaysTheWorstFirst) {
  EXPECT_EQ(headline(nasty()).word, "Error");
  const Headline failed = headline(only([](auto& r) { return r.verdict != Verdict::error; }));
  EXPECT_EQ(failed.word, "Fail");
  EXPECT_THAT(failed.sentence,
              HasSubstr("5 of 13 results fail, first v_violated (fp32) on case/one, violated"));
  const Headline passed = headline(only([](auto& r) { return standing(r) == Standing::pass; }));
  EXPECT_EQ(passed.word, "Pass");
  EXPECT_THAT(passed.sentence, HasSubstr("4 of 4 results pass; closest to its bound is"));
  const Headline nothing = headline(only(
      [](auto& r) { return r.verdict == Verdict::skipped || r.verdict == Verdict::vacuous || r.excused; }));
  EXPECT_EQ(nothing.word, "Nothing proved");
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_THAT(nothing.sentence, HasSubstr("1 skipped, 1 vacuous, 1 nondeterministic as declared"));
  EXPECT_EQ(headline(only([](auto& r) { return r.variant == "never_judged"; })).word, "Nothing proved");
}

TEST(Junit, FitsItsSchemaAndNothingUnverifiedPasses) {
  const std::string folder = fresh_folder("junit");
  const RecordView record = nasty();
  std::ofstream(folder + "/nasty.xml") << render_junit(record);
  std::ofstream(folder + "/full.xml") << render_junit(
      read_record_view(ULPSCOPE_SOURCE_DIR "/reports/recorded/h200-full/conv_transpose1d.json"));
  const Ran checked = ran(quoted({"xmllint", "--noout", "--schema", kSchemas + "junit.xsd",
                                  folder + "/nasty.xml", folder + "/full.xml"}));
  EXPECT_EQ(checked.code, 0) << checked.output;
  std::filesystem::remove_all(folder);

  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(render_junit(record).c_str()));
  std::map<std::string, std::string> kind;  // by test case: the element that is not system-out
  for (const pugi::xml_node suite : document.child("testsuites"))
    for (const pugi::xml_node test : suite.children("testcase"))
      for (const char* name : {"failure", "error", "skipped", "system-out"})
        if (test.child(name)) kind[test.attribute("name").value()] = name;
  for (const char* verdict : {"violated", "structural", "nondeterministic", "unexplained", "vacuous"})
    EXPECT_EQ(kind[std::string("v_") + verdict + " [fp32]"], "failure") << verdict;
  EXPECT_EQ(kind["never_judged [fp32]"], "failure");
  EXPECT_EQ(kind["v_error [fp32]"], "error");
  EXPECT_EQ(kind["v_skipped [fp32]"], "skipped");
  EXPECT_EQ(kind["atomics [fp32]"], "skipped");
  EXPECT_EQ(kind["v_bounded [fp32]"], "system-out");
  EXPECT_EQ(kind.size(), record.results.size());
  const pugi::xml_node all = document.child("testsuites");
  EXPECT_EQ(all.attribute("tests").as_int(), 14);
  EXPECT_EQ(all.attribute("failures").as_int(), 7);
  EXPECT_EQ(all.attribute("errors").as_int(), 1);
  EXPECT_THAT(render_junit(record), HasSubstr("explained (replay)"));
}

TEST(Junit, SchemaRefusesPlantedMistakes) {
  const std::string folder = fresh_folder("junit-mistakes");
  const std::string good = render_junit(nasty());
  const std::vector<std::pair<std::string, std::string>> mistakes{{"<failure message=", "<failed message="},
                                                                  {" tests=\"12\"", ""},
                                                                  {" classname=", " class="},
                                                                  {" type=\"violated\"", " type=\"\""},
                                                                  {"time=\"0.000000\"", "time=\"-1\""}};
  int i = 0;
  for (const auto& [from, to] : mistakes) {
    std::string text = good;
    const std::size_t at = text.find(from);
    if (at == std::string::npos) continue;
    text.replace(at, from.size(), to);
    const std::string file = folder + "/" + std::to_string(i++) + ".xml";
    std::ofstream(file) << text;
    EXPECT_NE(ran(quoted({"xmllint", "--noout", "--schema", kSchemas + "junit.xsd", file})).code, 0) << from;
  }
  EXPECT_GE(i, 4);
  std::filesystem::remove_all(folder);
}

TEST(Sarif, FitsTheStandardAndPointsAtTheSource) {
  const std::string folder = fresh_folder("sarif"), file = folder + "/r.sarif",
                    large = folder + "/large.sarif";
  std::ofstream(file) << render_sarif(nasty());
  RecordView many = parse_record_view(large_record(20), "large.json");
  many.results.assign(5003, many.results.at(13));
  const std::string schema = kSchemas + "sarif.schema.json";
  const Ran checked = ran(quoted({"/usr/bin/python3", kSchemas + "validate.py", schema, file}));
  EXPECT_EQ(checked.code, 0) << checked.output;
  const json run = json::parse(read_text(file))["runs"][0];
  ASSERT_EQ(run["results"].size(), 8u);
  for (const json& finding : run["results"])
    EXPECT_EQ(run["tool"]["driver"]["rules"][finding["ruleIndex"].get<std::size_t>()]["id"],
              finding["ruleId"]);
  EXPECT_EQ(run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "kernels/gemm/v_violated.cu");
  EXPECT_FALSE(run["invocations"][0]["executionSuccessful"]);
  const json cut = json::parse(render_sarif(many))["runs"][0];
  EXPECT_EQ(cut["results"].size(), 5000u);
  EXPECT_THAT(cut["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].get<std::string>(),
              HasSubstr("3 further findings"));
  std::filesystem::remove_all(folder);
}

/// RFC 4180, read strictly: false on a bare quote, a bare line end or rows of different length.
bool read_csv(const std::string& text, std::vector<std::vector<std::string>>& rows) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::vector<std::string> row;
    for (;;) {
      std::string field;
      if (at < text.size() && text[at] == '"') {
        for (++at;; ++at) {
          if (at >= text.size()) return false;
          if (text[at] != '"')
            field += text[at];
          else if (at + 1 < text.size() && text[at + 1] == '"')
            field += text[at++];
          else
            break;
        }
        ++at;
      } else {
        while (at < text.size() && text[at] != ',' && text[at] != '\r') {
          if (text[at] == '"' || text[at] == '\n') return false;
          field += text[at++];
        }
      }
      row.push_back(field);
      if (at < text.size() && text[at] == ',') {
        ++at;
        continue;
      }
      break;
    }
    if (text.compare(at, 2, "\r\n") != 0) return false;
    at += 2;
    if (!rows.empty() && row.size() != rows[0].size()) return false;
    rows.push_back(row);
  }
  return true;
}

TEST(Csv, BringsBackEveryField) {
  const RecordView record = nasty();
  std::vector<std::vector<std::string>> rows;
  ASSERT_TRUE(read_csv(render_csv(record), rows));
  ASSERT_EQ(rows.size(), record.results.size() + 1);
  auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin());
  };
  for (std::size_t i = 0; i < record.results.size(); ++i) {
    const ResultView& r = record.results[i];
    EXPECT_EQ(rows[i + 1][column("case")], r.test);
    EXPECT_EQ(rows[i + 1][column("reason")], reason_of(r));
    EXPECT_EQ(rows[i + 1][column("verdict")], to_string(r.verdict));
    EXPECT_EQ(rows[i + 1][column("reproduce")], r.reproduce);
    if (r.error) {
      EXPECT_EQ(std::stod(rows[i + 1][column("max_abs")]), *r.error->max_abs);
    }
  }
}

TEST(Json, IsTheRecord) {
  EXPECT_EQ(json::parse(render_json(nasty())), json::parse(nasty_record()));
}

TEST(Markdown, StartsWithTheVerdictAndEscapes) {
  const std::string text = render_markdown(nasty());
  EXPECT_TRUE(text.starts_with("## ulpscope: Error\n\n1 of 14 results could not be had, first v\\_error"));
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
  EXPECT_THAT(text, Not(HasSubstr("@someone")));
  EXPECT_THAT(text, HasSubstr("(replay, not a device)"));
  EXPECT_LT(text.find("**violated**"), text.find("| case | variant"));
}

TEST(Markdown, RendersAsTablesOfOneWidth) {
  const std::string folder = fresh_folder("markdown"), file = folder + "/r.md";
  std::ofstream(file) << render_markdown(nasty());
  const Ran html = ran(quoted({"cmark-gfm", "--unsafe", "-e", "table", file}));
  ASSERT_EQ(html.code, 0) << html.output;
  std::filesystem::remove_all(folder);
  int rows = 0;
  for (std::size_t at = html.output.find("<tbody>"); (at = html.output.find("<tr>", at)) != std::string::npos;
       ++at) {
    const std::string row = html.output.substr(at, html.output.find("</tr>", at) - at);
    if (row.find("</td>") == std::string::npos) continue;
    int cells = 0;
    for (std::size_t c = 0; (c = row.find("</td>", c)) != std::string::npos; ++c) ++cells;
    EXPECT_TRUE(cells == 7 || cells == 2) << row;
    rows += cells == 7;
  }
  EXPECT_EQ(rows, 13);  // all but the skipped one
  EXPECT_THAT(html.output, HasSubstr("it's | &lt;i&gt;&amp;amp;"));
  EXPECT_THAT(html.output, Not(HasSubstr("<script>")));
}

TEST(Markdown, StaysBelowItsLimitAndSaysWhatIsCut) {
  const RecordView record = parse_record_view(large_record(2000), "large.json");
  const std::string text = render_markdown(record);
  EXPECT_LE(text.size(), 60u << 10);
  EXPECT_GT(text.size(), 50u << 10);
  EXPECT_THAT(text, HasSubstr("results are not shown here"));
  EXPECT_THAT(text, HasSubstr("<summary>Environment</summary>"));
  EXPECT_THAT(text, Not(HasSubstr("findings are not shown")));
  const std::string small = render_markdown(record, 4000);
  EXPECT_LE(small.size(), 4000u);
  EXPECT_TRUE(small.starts_with("## ulpscope: Fail"));
  EXPECT_THAT(small, HasSubstr("of 21 findings are not shown here"));
}

}  // namespace
}  // namespace ulpscope
