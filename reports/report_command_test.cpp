// `ulpscope report` as it is called: all outputs at once, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "reports/render.hpp"
#include "reports/testing.hpp"

namespace ulpscope {
namespace {

using namespace testing_reports;
using ::testing::HasSubstr;

class ReportCommand : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(record_) << nasty_record(); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Ran report(std::vector<std::string> words) const {
    words.insert(words.begin(), {ULPSCOPE_BINARY, "report", record_});
    return ran(quoted(words));
  }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }

  const std::string folder_ = fresh_folder("report-command"), record_ = folder_ + "/record.json";
};

TEST_F(ReportCommand, WritesEverythingAtOnce) {
  const Ran all = report({"--html", file("r.html"), "--markdown", file("r.md"), "--junit", file("r.xml"),
                          "--sarif", file("r.sarif"), "--csv", file("r.csv"), "--json", file("r.json")});
  EXPECT_EQ(all.code, 0) << all.output;
  EXPECT_EQ(all.output, "");
  const RecordView record = read_record_view(record_);
  EXPECT_EQ(read_text(file("r.md")), render_markdown(record));
  EXPECT_EQ(read_text(file("r.xml")), render_junit(record));
  EXPECT_EQ(read_text(file("r.sarif")), render_sarif(record));
  EXPECT_EQ(read_text(file("r.csv")), render_csv(record));
  EXPECT_EQ(read_text(file("r.json")), render_json(record));
  EXPECT_THAT(read_text(file("r.html")), HasSubstr("<title>ulpscope: Error, record.json</title>"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
    EXPECT_EQ(entry.path().string().find(".partial-"), std::string::npos) << entry.path();
}

TEST_F(ReportCommand, PrintsMarkdownWhenNothingIsAskedFor) {
  const Ran plain = report({});
  EXPECT_EQ(plain.code, 0);
  EXPECT_EQ(plain.output, render_markdown(read_record_view(record_)));
}

TEST_F(ReportCommand, RefusesWithOneLineAndWritesNothing) {
  const std::string before = read_text(record_), out = file("r.md");
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused{
      {{"--markdown", out, "--csv", out}, "would write to the same place"},
      {{"--markdown", "-", "--csv", "-"}, "would write to the same place"},
      {{"--markdown", out, "--json", record_}, "would replace"},
      {{"--markdown", out, "--csv", file("./record.json")}, "would replace"},
      {{"--markdown", out, "--explain", record_}, "add --html FILE"},
      {{"--markdown", out, "--html", file("r.html"), "--explain", record_}, "is no ulpscope.explain/1"},
      {{"--markdown", out, "--html", file("r.html"), "--drift", file("none.json")}, "none.json"}};
  for (const auto& [words, why] : refused) {
    const Ran r = report(words);
    EXPECT_EQ(r.code, 2) << why;
    EXPECT_THAT(r.output, HasSubstr(why));
    EXPECT_EQ(std::count(r.output.begin(), r.output.end(), '\n'), 1) << r.output;
    EXPECT_FALSE(std::filesystem::exists(out)) << why;
  }
  EXPECT_EQ(read_text(record_), before);
  std::ofstream(record_) << "{\"schema\": \"ulpscope.run/1\"";
  EXPECT_THAT(report({}).output, HasSubstr("no JSON"));
}

}  // namespace
}  // namespace ulpscope
