#pragma once
// What several commands share: the words of the command line itself, choices, and finding cases.
#include <string>
#include <utility>
#include <vector>

#include "harness/case.hpp"
#include "harness/suggest.hpp"
#include "reference/error.hpp"

namespace ulpscope {

/// argv of this process, for the environment of records.
const std::vector<std::string>& command_line();
void set_command_line(int argc, char** argv);

/// One of the named values, or an Error with a suggestion.
template <class T>
T choice(const char* option, const std::string& given, const std::vector<std::pair<std::string, T>>& values) {
  std::vector<std::string> names;
  for (auto& [name, value] : values) {
    if (name == given) return value;
    names.push_back(name);
  }
  throw Error(std::string("unknown value '") + given + "' for " + option + suggestion(given, names));
}

/// The cases that the patterns select. A pattern that is a case's text needs no folder of cases.
std::vector<Case> cases_named(const std::vector<std::string>& patterns, const std::string& folder);

}  // namespace ulpscope
