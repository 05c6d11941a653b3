#pragma once
// From what was seen to a verdict. A pure function: everything it may look at is in Evidence.
#include <cstdint>
#include <optional>
#include <string>

#include "harness/measure.hpp"
#include "harness/verdict.hpp"
#include "kernels/support/registry.hpp"

namespace ulpscope {

/// A plan was replayed: on how many of the judged outputs it gave the same bits.
struct ReplayOutcome {
  std::string plan;  // canonical text
  std::int64_t compared = 0, equal = 0;
  bool admitted = true;      // by the mode
  std::string not_admitted;  // why not
  bool found = false;        // by a search, not declared
};

/// What a launch on operands that are one everywhere gave: an output is then the number of its terms,
/// exactly, in every order of every mode, as far as its format has whole numbers. Some outputs only, the
/// corners among them.
struct SumsOfOnes {
  std::int64_t outputs = 0;  // looked at; 0: no such launch
  std::int64_t wrong = 0;
  std::int64_t first_wrong = -1, terms = 0;  // the first wrong output, and how many terms it has
  double seen = 0;                           // what it gave for them
};

struct Evidence {
  std::string status = "ok";  // "ok", "skipped", "error"
  std::string reason;         // of skipped and error
  std::int64_t outputs = 0;   // of the operator; judged ones may be fewer (windows)
  // two launches
  std::int64_t differing = 0, first_differing = -1;
  std::int64_t unwritten = 0, first_unwritten = -1;
  bool guards_intact = true;
  bool declared_nondeterministic = false;
  // against exact
  std::optional<Measurement> measured;
  std::string bound_formula;
  std::optional<ReplayOutcome> replay;
  Mode mode = Mode::fp32;
  std::string effective_mode;  // what a probe found: fp32, tf32, bf16, fp16, or "unknown"
  SumsOfOnes ones;
};

struct Judgement {
  Verdict verdict = Verdict::error;
  std::string reason;    // one line; says which rule decided
  bool excused = false;  // declared nondeterminism whose two runs keep within their spread bound
};

Judgement judge(const Evidence& e);

/// {outputs, wrong} and, where some are wrong, {first_wrong, terms, seen}; null where no such launch was
/// made.
nlohmann::json to_json(const SumsOfOnes& ones);

/// Whether operands in `effective` (as a probe names it) are shorter than `mode` promises for fp32 data.
bool shortens_more(const std::string& effective, Mode mode);

}  // namespace ulpscope
