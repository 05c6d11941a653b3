#pragma once
// What bound and drift have in common on the command line: which cases, which tolerance, where results go.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/case.hpp"

namespace ulpscope {

struct CaseOptions {
  std::vector<std::string> patterns;
  std::string folder = "cases", json;
  std::optional<double> atol, rtol;
  std::optional<std::uint64_t> seed;
  int threads = 0;

  void add_to(CLI::App& sub);
  std::vector<Case> select() const;             // with --seed applied; throws Error if nothing matches
  Tolerance tolerance_of(const Case& c) const;  // the command line's, else the case's, else 1e-4 both
};

/// JSON to --json FILE (or to stdout for "-"), the text to stdout otherwise.
void write_prediction(const nlohmann::json& json, const std::string& text, const CaseOptions& options);

}  // namespace ulpscope
