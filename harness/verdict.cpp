#include "harness/verdict.hpp"

#include <array>
#include <utility>

#include "reference/error.hpp"

namespace ulpscope {
namespace {
constexpr std::array<std::pair<Verdict, const char*>, 10> kVerdicts{
    {{Verdict::identical, "identical"},
     {Verdict::explained, "explained"},
     {Verdict::bounded, "bounded"},
     {Verdict::violated, "violated"},
     {Verdict::structural, "structural"},
     {Verdict::nondeterministic, "nondeterministic"},
     {Verdict::unexplained, "unexplained"},
     {Verdict::vacuous, "vacuous"},
     {Verdict::skipped, "skipped"},
     {Verdict::error, "error"}}};
}  // namespace

const char* to_string(Verdict v) {
  for (auto& [verdict, name] : kVerdicts)
    if (verdict == v) return name;
  return "?";
}

Verdict parse_verdict(const std::string& name) {
  std::string all;
  for (auto& [verdict, known] : kVerdicts) {
    if (name == known) return verdict;
    all += (all.empty() ? "" : ", ") + std::string(known);
  }
  throw Error("unknown verdict '" + name + "': the words are " + all);
}

bool passes(Verdict v) {
  return v == Verdict::identical || v == Verdict::explained || v == Verdict::bounded;
}

void ExitTally::add(Verdict v, bool excused_nondeterminism) {
  if (passes(v))
    ++passed;
  else if (v == Verdict::error)
    ++errors;
  else if (v == Verdict::vacuous || v == Verdict::skipped)
    ++neither;
  else if (v == Verdict::nondeterministic && excused_nondeterminism)
    ++neither;  // declared and within its spread bound: it does not fail the run, and is no pass either
  else
    ++failed;
}

int ExitTally::exit_code() const {
  if (errors) return 2;
  if (failed) return 1;
  return passed ? 0 : 3;
}

}  // namespace ulpscope
