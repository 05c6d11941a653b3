#include "harness/commands/prediction_options.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "harness/commands/written_file.hpp"
#include "harness/io/atomic_file.hpp"
#include "reference/error.hpp"

namespace ulpscope {

void CaseOptions::add_to(CLI::App& sub) {
  sub.add_option("CASE", patterns, "Names, globs, files or tags of cases, or a case's text")->required();
  sub.add_option("--cases", folder, "Folder or file of cases (default: cases)");
  sub.add_option("--atol", atol, "Absolute tolerance (default: the case's, else 1e-4)")
      ->check(CLI::NonNegativeNumber);
  sub.add_option("--rtol", rtol, "Relative tolerance (default: the case's, else 1e-4)")
      ->check(CLI::NonNegativeNumber);
  sub.add_option("--seed", seed, "Other inputs of the same distributions");
  sub.add_option("--threads", threads, "Threads (default: all cores); results do not depend on it")
      ->check(CLI::Range(0, 4096));
  sub.add_option("--json", json, "Write JSON to this file ('-': to the standard output instead of the text)")
      ->check(written_file(true));
}

std::vector<Case> CaseOptions::select() const {
  // A case's text needs no files; a name does.
  const bool only_texts = std::all_of(patterns.begin(), patterns.end(),
                                      [](const std::string& p) { return p.find(' ') != std::string::npos; });
  std::vector<Case> cases;
  if (!only_texts || std::filesystem::exists(folder)) cases = load_cases(folder);
  cases = select_cases(cases, patterns);
  if (seed)
    for (Case& c : cases) c.seed = *seed;
  return cases;
}

Tolerance CaseOptions::tolerance_of(const Case& c) const {
  const Tolerance usual = c.tolerance.value_or(Tolerance{1e-4, 1e-4});
  return {atol.value_or(usual.atol), rtol.value_or(atol ? (c.tolerance ? usual.rtol : 0) : usual.rtol)};
}

void write_prediction(const nlohmann::json& json, const std::string& text, const CaseOptions& options) {
  const std::string out = json.dump(1) + "\n";
  if (options.json == "-") {
    std::fputs(out.c_str(), stdout);
    return;
  }
  if (!options.json.empty()) write_text(options.json, out);
  std::fputs(text.c_str(), stdout);
}

}  // namespace ulpscope
