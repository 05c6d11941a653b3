// The handler builds what the library's own reader builds, but for what it is told to leave out, and refuses
// what is too deep.
#include "harness/io/read_json.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/io/bytes.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;

const std::vector<JsonPlace> kUnread{{"cases"}, {"results", "", "explanation"}};

std::string error_of(const std::string& text, const std::vector<JsonPlace>& unread = {}) {
  try {
    read_json(text, unread);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string lists(int n) {
  return std::string(static_cast<std::size_t>(n), '[') + std::string(static_cast<std::size_t>(n), ']');
}

TEST(ReadJson, BuildsWhatTheLibraryBuilds) {
  for (const char* text :
       {"null", "true", " -3 ", "3", "18446744073709551615", "1.5e-300", "\"a\\u00e9\\n\\\"\"", "[]", "{}",
        "[[], {}, [null, [1]], {\"\": {}}]", R"({"z": 1, "a": {"y": [1, {"b": 2}], "x": "t"}, "m": false})",
        R"({"a": {"b": 1}, "c": 2, "a": [3], "c": {}, "a": {"d": 4}})"}) {
    const json expected = json::parse(text), built = read_json(text);
    EXPECT_EQ(built, expected) << text;
    EXPECT_EQ(built.dump(), expected.dump()) << text;
    EXPECT_EQ(built.type(), expected.type()) << text;
  }
  for (const char* name : {"h200-full/conv_transpose1d.json", "smoke-h200/results.json"}) {
    const Bytes file = map_file(std::string(ULPSCOPE_SOURCE_DIR "/reports/recorded/") + name);
    EXPECT_EQ(read_json(file.text()).dump(), json::parse(file.text()).dump()) << name;
  }
}

TEST(ReadJson, LeavesOutExactlyWhatIsNamed) {
  // Right: what is left. Each word is kept at every other place, as a name and as a text.
  const std::pair<const char*, const char*> pairs[]{
      {R"({"a": 1, "cases": [{"x": [1, 2]}, "}"], "b": 2})", R"({"a": 1, "b": 2})"},
      {R"({"cases": 1})", "{}"},
      {R"({"cases": [], "cases": {}, "a": [1]})", R"({"a": [1]})"},
      {R"({"results": [{"case": "c", "explanation": {"explanation": [{}]}}, {"explanation": 3, "k": {}}, 7]})",
       R"({"results": [{"case": "c"}, {"k": {}}, 7]})"},
      {R"({"results": [{"explanation": {"a": "\"}"}}], "z": [1]})", R"({"results": [{}], "z": [1]})"}};
  for (const auto& [text, left] : pairs) EXPECT_EQ(read_json(text, kUnread), json::parse(left)) << text;
  for (const char* kept :
       {R"({"explanation": {"a": 1}, "results": {"explanation": {"a": 1}}})",
        R"({"results": {"": {"explanation": {"a": 1}}}})",
        R"({"results": [{"cases": [1], "error": {"explanation": [1], "cases": {}}}]})",
        R"({"results": [[{"explanation": {"a": 1}}]], "others": [{"explanation": {"a": 1}}]})",
        R"({"environment": {"cases": 3, "results": [{"explanation": {}}]}})",
        R"([{"cases": 1}, {"results": [{"explanation": 1}]}])",
        R"({"a": "cases", "b": ["explanation", ":", "\"cases\": [1]"]})", R"("cases")", "[\"cases\"]"})
    EXPECT_EQ(read_json(kept, kUnread), json::parse(kept)) << kept;
}

TEST(ReadJson, RefusesWhatIsDamagedAlsoWhereItIsNotRead) {
  const std::string whole = R"({"cases": [{"x": "\u00e9", "y": -1.5e3}, null],
    "results": [{"explanation": {"a": [true, {"b": "c"}]}, "n": 1}]})";
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_EQ(error_of(whole.substr(0, n), kUnread), "it is no JSON (cut off?)") << n;
  EXPECT_EQ(error_of(whole, kUnread), "");
  for (const char* broken : {"{} 1", R"({"cases": [1,]})", R"({"cases": [}]})", R"({"cases": nul})",
                             R"({"cases": 1e999})", "{\"cases\": \"\xff\"}", R"({"cases" 1})", "[1e999]"})
    EXPECT_EQ(error_of(broken, kUnread), "it is no JSON (cut off?)") << broken;
}

TEST(ReadJson, RefusesWhatIsTooDeep) {
  EXPECT_EQ(read_json(lists(32)), json::parse(lists(32)));
  EXPECT_EQ(error_of(lists(33)), "it is nested too deeply");
  EXPECT_EQ(error_of(std::string(1000000, '[')), "it is nested too deeply");
  EXPECT_EQ(error_of("{\"cases\": " + lists(31) + "}", kUnread), "");
  EXPECT_EQ(error_of("{\"cases\": " + lists(32) + "}", kUnread), "it is nested too deeply");
  // Brackets within texts are no nesting, and neither is what stands side by side.
  EXPECT_EQ(error_of("[\"" + std::string(99, '[') + "\\\"[\"]"), "");
  std::string flat = "[[]";
  for (int i = 0; i < 99; ++i) flat += ",{\"a\": []}";
  EXPECT_EQ(error_of(flat + "]"), "");
}

}  // namespace
}  // namespace ulpscope
