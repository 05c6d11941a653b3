#pragma once
// Budgets: what a reviewer allows for a case, a variant and a mode. A file of [[budget]] tables
// (cases/budgets/README.md); of the rules that match a result, the last decides, so exceptions follow the
// general rule.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/verdict.hpp"

namespace ulpscope {

/// What a limit is set on. There is none on the largest ULP: near zero, cancellation makes it arbitrary.
enum class Figure : std::uint8_t { max_scaled, max_abs, p50_ulp, p99_ulp, p999_ulp };
const char* to_string(Figure figure);

/// A limit, typed or derived: "12.5", "bound", "0.5x bound", "2x expected_max", "2x cudnn:strict". The
/// variant `vendor` stands for whichever library call of that case and mode is the most accurate.
struct Limit {
  enum class Base : std::uint8_t { number, bound, expected_max, result };
  Figure figure = Figure::max_scaled;
  Base base = Base::number;
  double factor = 1;          // Base::number: the limit itself
  std::string variant, mode;  // Base::result
};

/// Throws Error on what is no limit of this figure (an expected_max is an absolute error only).
Limit parse_limit(Figure figure, std::string_view text);
std::string to_string(const Limit& limit);  // parses back

/// How many outputs may violate |c - r| <= atol + rtol*|r|. The case must state the same tolerance.
struct ViolationLimit {
  double atol = 0, rtol = 0;
  std::int64_t most = 0;
};

struct Budget {
  std::string case_pattern, variant_pattern = "*", mode_pattern = "*";  // globs; * crosses slashes
  std::vector<Limit> limits;
  std::optional<ViolationLimit> violations;
  std::vector<Verdict> verdicts{Verdict::identical, Verdict::explained, Verdict::bounded};  // allowed
  bool bits_of_runs = false;      // two runs, the same bits
  bool bits_of_batch = false;     // the same bits whatever the batch
  bool bits_of_plan = false;      // the declared plan, replayed, gives every judged bit
  bool bits_of_baseline = false;  // the output hash of the baseline
  bool deterministic = false;     // neither variant nor library declares run-to-run differences
  std::string date, reason, owner;
  std::string file;
  int line = 0;

  bool allows(Verdict v) const;
  bool matches(const std::string& test, const std::string& variant, const std::string& mode) const;
};

/// Throws Error, "file:line: ...", on anything unknown, contradictory or missing; date, reason and owner are
/// mandatory.
std::vector<Budget> parse_budgets(std::string_view toml, const std::string& file);
std::vector<Budget> read_budgets(const std::string& path);

/// One [[budget]] table, which parses back. `comment` lines go above it.
std::string to_toml(const Budget& budget, const std::vector<std::string>& comments = {});

/// The last rule that matches; -1 if none does.
int deciding_budget(const std::vector<Budget>& budgets, const std::string& test, const std::string& variant,
                    const std::string& mode);

}  // namespace ulpscope
