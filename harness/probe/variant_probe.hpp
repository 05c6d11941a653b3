#pragma once
// A registered variant as something that can be probed, through the executor that `run` uses.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "harness/run.hpp"
#include "kernels/support/executor.hpp"
#include "reference/probe/probe.hpp"

namespace ulpscope {

/// What a probe of one variant in one mode found.
struct ProbedVariant {
  Case test;                              // as probed: a large case with fewer images, rows and pixels
  std::string variant, source, executed;  // "device" or "host"
  Mode mode = Mode::fp32;
  bool vendor = false;
  std::string status = "ok";  // "ok", "skipped", "error"
  std::string reason;
  LaunchNotes notes;           // engine or kernel name
  std::int64_t differing = 0;  // outputs that differed between two launches: nothing is found then
  std::int64_t launches = 0;   // all of them
  ProbeResult result;
  bool hinted = false;   // the order was not found without looking at the declared plan
  std::string declared;  // "": none
  std::int64_t declared_tested = 0, declared_equal = 0;  // the declared plan on the case's own inputs
  std::optional<bool> same_tree, same_arithmetic;        // probed and declared
  std::string difference;                                // one line
  std::optional<bool> agrees_with_table;                 // L and F of a fused step; none: nothing to compare

  /// The plan gave every bit of random launches and every mask: only then is it printed as found.
  bool found() const { return status == "ok" && differing == 0 && confirmed; }
  bool confirmed = false;
  /// No other plan that was considered gives these bits.
  bool unique() const { return found() && result.plans_agreeing == 1; }
  /// Whether the declared plan is what the variant does; none where there is nothing to compare.
  std::optional<bool> as_declared() const;
};

/// `target.run` calls the variant; executor, variant, test and contraction must stay alive.
ProbeTarget probe_target(Executor& executor, const Variant& variant, const Case& test, const Contraction& c,
                         Mode mode, int threads);

/// The same case with so few images, rows and pixels that every output can be asked about; the terms of an
/// output stay as they are.
Case probe_size(Case test);

struct VariantProbeOptions {
  std::int64_t max_launches = 16;  // operators with a few outputs take more
  int threads = 0;
  int sm = 0;  // 10*major + minor of the device, for the table; 0: none
};

/// Never throws: what goes wrong becomes status "error".
ProbedVariant probe_variant(Executor& executor, const Job& job, const Case& test,
                            const VariantProbeOptions& options);

}  // namespace ulpscope
