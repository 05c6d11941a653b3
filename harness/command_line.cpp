#include "harness/command_line.hpp"

#include <algorithm>
#include <filesystem>

namespace ulpscope {
namespace {
std::vector<std::string>& words() {
  static std::vector<std::string> list;
  return list;
}
}  // namespace

const std::vector<std::string>& command_line() {
  return words();
}

void set_command_line(int argc, char** argv) {
  words().assign(argv, argv + argc);
}

std::vector<Case> cases_named(const std::vector<std::string>& patterns, const std::string& folder) {
  // A pattern with a space in it is a case's text (select_cases).
  const bool texts_only = std::all_of(patterns.begin(), patterns.end(),
                                      [](const std::string& p) { return p.find(' ') != std::string::npos; });
  std::vector<Case> all;
  if (!texts_only || (folder != "cases" && !folder.empty())) {
    if (!std::filesystem::exists(folder))
      throw Error("no folder or file of cases at '" + folder +
                  "': name it with --cases, or run in the project's root");
    all = load_cases(folder);
  }
  return select_cases(all, patterns);
}

}  // namespace ulpscope
