#pragma once
// The names of the kernels that really ran, from CUPTI: a library's flags and notes say what it meant to do.
#include <string>
#include <vector>

namespace ulpscope::vendor {

/// Records kernels from construction to finish(). One at a time per process. Where CUPTI is missing or
/// refuses (another profiler or compute-sanitizer is attached), nothing is recorded and `unavailable` says
/// why; never throws.
class KernelTrace {
 public:
  KernelTrace();
  ~KernelTrace();
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;

  /// Stops and gives the names in the order in which the kernels started, demangled. Synchronize the stream
  /// first.
  std::vector<std::string> finish();
  const std::string& unavailable() const { return unavailable_; }

 private:
  bool active_ = false;
  std::string unavailable_;
};

/// "a + b x3": consecutive repeats counted, template arguments shortened; for LaunchNotes::engine.
std::string summarize_kernels(const std::vector<std::string>& names);

}  // namespace ulpscope::vendor
