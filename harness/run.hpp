#pragma once
// The pipeline: make inputs, run every variant twice, judge all outputs of all of them against exact computed
// once, record. Works on plain structs and prints nothing.
#include <functional>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "harness/device_choice.hpp"
#include "harness/record.hpp"
#include "kernels/support/executor.hpp"

namespace ulpscope {

enum class ReplayChoice { automatic, all, none };

struct RunOptions {
  std::vector<std::string> variants;  // names or globs; empty: those of the case
  std::vector<Mode> modes;            // empty: all of each variant
  DeviceChoice device = DeviceChoice::automatic;
  Workers workers;  // processes that share the cases; none: this one runs all
  ReplayChoice replay = ReplayChoice::automatic;
  bool explain = true;             // keep the ladder of causes with every result, drift with every case
  bool selection_checked = false;  // by the caller, over more cases than are run here
  int threads = 0;
  double patience = 1;   // searches for plans may take this many times their usual time: fewer threads each
  std::string captures;  // folder of captures and finished results; "": none
  std::int64_t capture_bytes = std::int64_t{16} << 20;    // per capture; larger outputs are kept in windows
  std::vector<std::string> argv;                          // for the environment
  std::function<void(const std::string& line)> progress;  // may be empty
};

/// What would run: one variant in one mode, or the reason why not.
struct Job {
  const Variant* variant = nullptr;
  Mode mode = Mode::fp32;
  std::string skip;  // "" if it can run
};

/// The jobs of a case, sorted by variant and mode. Variants and modes that were not asked for are no jobs.
std::vector<Job> jobs_of(const Case& test, const RunOptions& options, const std::string& no_cuda);

/// The same without asking whether they can run, so no library starts a device; `skip` is "".
std::vector<Job> wanted_jobs(const Case& test, const RunOptions& options);

/// Throws Error if a pattern of options.variants names no variant of any of the cases' operators (with a
/// suggestion), or if nothing is selected.
void check_selection(const std::vector<Case>& cases, const RunOptions& options);

/// Runs and judges. Throws Error only for what stops everything (no device where one was asked for); a
/// variant that fails is a result with verdict `error`.
Record run_cases(const std::vector<Case>& cases, const RunOptions& options);

}  // namespace ulpscope
