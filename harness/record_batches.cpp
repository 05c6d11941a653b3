#include "harness/record_batches.hpp"

#include <set>

#include "harness/merge.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;

std::string text_of(const json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

bool ran(const json& row) {
  const std::string executed = text_of(row, "executed");
  return executed == "device" || executed == "host";
}

}  // namespace

std::vector<Case> cases_that_ran(const Record& record) {
  std::vector<Case> cases;
  std::set<std::string> seen;
  for (const json& row : record.results) {
    const std::string name = text_of(row, "case");
    if (!ran(row) || !seen.insert(name).second) continue;
    cases.push_back(parse_case(text_of(row, "case_text")));
    cases.back().name = name;
  }
  return cases;
}

json* result_that_ran(Record& record, const Case& test, const std::string& variant, Mode mode) {
  for (json& row : record.results)
    if (ran(row) && text_of(row, "case") == test.name && text_of(row, "case_text") == to_string(test) &&
        text_of(row, "variant") == variant && text_of(row, "mode") == to_string(mode))
      return &row;
  return nullptr;
}

void check_same_environment(const Record& record, const std::string& name, const json& here) {
  json there = record.environment;
  there.erase("merged");
  const std::string found = environment_difference(there, here);
  if (!found.empty())
    throw Error("'" + name + "' was made in another environment than this one: " + found +
                "; make it again here, or try it there");
}

void set_invariance(json& row, const json& findings) {
  json identical;
  std::string why;
  for (const json& finding : findings) {
    const std::string what = text_of(finding, "circumstance");
    if (what != "batch_size" && what != "batch_position") continue;
    if (finding.contains("same_bits"))
      identical = finding["same_bits"] == true && identical != false;
    else if (why.empty())
      why = text_of(finding, "skipped");
  }
  row["batch_identical"] = identical;
  row["invariance"] = findings;
  row.erase("batch_not_applicable");  // of an earlier try
  if (identical.is_null() && !why.empty()) row["batch_not_applicable"] = why;
}

}  // namespace ulpscope
