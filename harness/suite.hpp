#pragma once
// A suite: what is run and judged together, under one name. A file of cases/suites (README there).
#include <string>
#include <string_view>
#include <vector>

#include "harness/run.hpp"

namespace ulpscope {

struct Suite {
  std::string name, about;
  std::vector<std::string> cases;     // names, globs, files or tags, as on the command line
  std::vector<std::string> variants;  // patterns; empty: all
  std::vector<std::string> captures;  // files or folders, relative to the folder that holds `cases`
  std::vector<std::string> drift;     // cases whose orders are compared
  std::string device = "auto";
  std::string replay = "auto";
  std::int64_t sweep = 0;  // random problems on top
};

/// Throws Error, "file:line: ...", on anything unknown, or if the suite selects nothing.
Suite parse_suite(std::string_view toml, const std::string& file, const std::string& name);

/// `cases_folder`/suites/NAME.toml; captures become paths that can be opened. Throws Error that names near
/// suites.
Suite read_suite(const std::string& cases_folder, const std::string& name);

/// Replays the orders of plain fp32 FMA sums on a case's inputs: `bounded` if every order keeps its bound and
/// no two are further apart than their orders allow. Variant "drift", executed "replay".
Result judge_drift(const Case& test, int threads);

}  // namespace ulpscope
