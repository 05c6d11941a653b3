#pragma once
// Determinism and invariance: the same outputs computed several times, in different circumstances. Same bits?
// If not, which plans differ, and is the spread within what the order of additions can do? Repeats of one
// call that differ by more than that are a race, not rounding.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/exact.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {

/// What was varied between the runs.
enum class Circumstance : std::uint8_t {
  repeat,
  batch_size,
  batch_position,
  layout,
  zero_padding,
  launch_shape
};
const char* to_string(Circumstance c);

/// One run: its own call (contraction and operands), its whole output, and where the common outputs lie in
/// it: at[i] is the linear index of common output i. An empty `at` means all, in order.
struct ObservedRun {
  std::string label;  // "batch 1", "run 2"
  const Contraction* contraction = nullptr;
  Operands operands;
  TensorView output;
  std::vector<std::int64_t> at;
};

struct InvarianceOptions {
  /// The arithmetic that all runs claim: limits what order can do. Its order does not matter.
  Plan arithmetic;
  double search_seconds = 0;  // per run that differs: find its plan; 0: don't
  int threads = 0;
};

/// One value of the first differing output, and an order of additions that gives it.
struct ObservedValue {
  double value = 0;
  std::vector<std::string> runs;
  std::string tree;  // "((0 1) 2)"; "" if none was found or the sum is too long to try all orders
};

struct InvarianceReport {
  Circumstance circumstance = Circumstance::repeat;
  std::int64_t runs = 0, outputs = 0;    // common outputs
  std::int64_t differing = 0;            // outputs whose bits are not the same in all runs
  std::int64_t nonfinite_differing = 0;  // of them, some run not finite and another finite (or another kind)
  std::int64_t first_differing = -1;     // index among the common outputs
  double spread = 0;                     // largest difference between two runs at one output
  double order_bound = 0;                // largest that two orders may differ by, at any output looked at
  double expected_spread = 0;            // largest that two orders are expected to differ by (statistics)
  double headroom = 0;                   // largest spread / its own output's bound
  std::int64_t beyond_order = 0;         // outputs whose spread no order explains
  std::vector<std::string> labels;       // of the runs
  std::vector<std::string> plans;        // per run, where found; else ""
  std::vector<ObservedValue> values;     // of the first differing output
  bool same_bits = true, plans_differ = false;
  bool plans_account = false;  // every run's plan was found, and replayed on every common output
  bool race = false;           // repeats of one call spread beyond what order can do
  bool suspicious =
      false;  // within that bound, but more than 10 times what two orders are expected to differ
  std::string sentence;
};

/// Throws Error if the runs do not fit together (fewer than two, other formats, other numbers of outputs).
InvarianceReport compare_runs(Circumstance circumstance, const std::vector<ObservedRun>& runs,
                              const InvarianceOptions& options);

/// A tree of additions over at most 8 partial sums (terms, or block steps) of output `o` that gives `bits`,
/// one after another in some order; none if no such order does.
std::optional<std::string> sequence_that_gives(const Plan& arithmetic, const Contraction& c,
                                               const Operands& operands, std::int64_t o, std::uint32_t bits);

}  // namespace ulpscope
