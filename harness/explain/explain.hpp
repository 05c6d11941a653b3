#pragma once
// Two tensors differ, or one differs from the truth: why? The ladder of causes, cheapest rung first, every
// rung with what it leaves over. Stages: side.hpp explains one result against the exact one, mistakes.hpp
// names structural mistakes, cause.cpp compares two explained sides.
#include <optional>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "harness/explain/mistakes.hpp"
#include "harness/measure.hpp"
#include "harness/statistics/forecast.hpp"
#include "harness/verdict.hpp"
#include "reference/search/search.hpp"

namespace ulpscope {

/// One dumped result. `output` is in its storage format (fp32, bf16, fp16), dense, in the contraction's
/// order.
struct Dump {
  std::string name;
  Tensor output;
};

struct ExplainRequest {
  Problem problem;                             // the whole operator
  Contraction contraction;                     // lowered, and cut to the outputs that were dumped
  Operands operands;                           // the candidate's
  std::optional<Operands> reference_operands;  // where the other side's inputs were dumped, too
  std::vector<Dump> candidates;                // at least one
  std::optional<Dump> reference;
  std::vector<Dump> repeats;       // other dumps of the first candidate's call
  std::optional<Mode> mode;        // what the candidate promised; without it every plan is admissible
  std::vector<std::string> plans;  // declared ones, tried first
  Tolerance tolerance;
  bool tolerance_given = false;
  double seconds = 10;  // for the search of one side's plan
  int threads = 0;
  std::int64_t batch = 0;  // linear: rows of the call that the dumped ones were part of; 0: all were dumped
  bool quick = false;      // no search beyond `plans`, no structural mistakes: milliseconds, always the same
};

enum class RungStatus : std::uint8_t { excluded, confirmed, not_tested };
const char* to_string(RungStatus status);

/// One rung of the ladder, and what is left over if this were all: candidate minus what the rung predicts.
struct Rung {
  std::string name, note;
  RungStatus status = RungStatus::not_tested;
  double max_residual = 0, mean_residual = 0;  // absolute
  double equal_share = 0;                      // of outputs with equal bits
  bool measured = false;                       // whether the three figures above mean something
};

/// One side, explained.
struct SideReport {
  std::string name;
  DType dtype = DType::f32;
  Measurement error;  // against the true values
  std::string bound_formula;
  std::optional<std::string> plan;  // replays every output
  bool unique = false;
  std::vector<std::string> plans;  // all that do
  std::string family;              // in words, where more than one does
  std::string best_plan;           // came closest
  double bit_identical = 0;
  std::string unordered_plan;  // atomics: some order of its parts gives each output looked at; else ""
  std::string operands = "unknown", operands_input = "unknown", operands_weight = "unknown";
  std::vector<std::string> operands_fit;
  std::vector<std::string> input_fit, weight_fit;
  std::string flushes;  // "results": subnormal ones count as zero where `plan` is replayed; else ""
  std::string parts;    // operands carried in several short parts: that stage of a plan; else ""
  std::optional<Mistake> mistake;
  std::int64_t candidates_tried = 0;
  bool inputs_suffice = true;  // false: no rounding of the given operands accounts for every output
  Verdict verdict = Verdict::unexplained;
  std::string why;  // the verdict in words
  std::vector<Rung> rungs;
};

struct Repeats {
  std::int64_t dumps = 0, differing = 0, first_index = -1;
  double max_abs = 0, first_a = 0, first_b = 0;
  double spread_bound = 0;         // two correct orders cannot be further apart at any output
  bool race = false;               // beyond that
  std::vector<std::string> plans;  // one that gives each dump, "" where none was found
  std::string tree_a, tree_b;      // additions that give the first differing output's two values, if short
};

struct Explanation {
  std::int64_t outputs = 0;
  std::optional<PairMeasurement> pair;
  SideReport candidate;
  std::vector<SideReport> others;  // further candidates
  std::vector<std::string> other_causes;
  std::optional<SideReport> reference;
  std::string cause;
  std::string cause_why;
  Attainability attainable;
  bool attainable_known = false;
  bool zeros_pass = false;  // the tolerance accepts an output of zeros
  Repeats repeats;
  std::vector<Rung> rungs;  // the pair's own: inputs, determinism, integers
  Tolerance tolerance;
  std::int64_t batch = 0, rows = 0;  // of the candidate's call, and dumped ones; 0 where not said
  double batch_spread = 0;           // what another batch size's order may change an output by, at most
  std::string summary;
};

/// Throws Error on unusable requests; numerical findings are values.
Explanation explain(const ExplainRequest& request);

/// The cause word for two sides; `why` says it in a sentence. `reference` may be null: the correctly rounded
/// exact result.
std::string cause_of(const SideReport& candidate, const SideReport* reference, std::string& why);

}  // namespace ulpscope
