#pragma once
// One case after another on this process's executors: every variant twice, all outputs of all variants judged
// against exact computed once.
#include <memory>
#include <optional>
#include <string>

#include "harness/run.hpp"
#include "harness/run_captures.hpp"

namespace ulpscope {

class CaseRunner {
 public:
  /// Throws Error where a device was asked for and there is none.
  explicit CaseRunner(const RunOptions& options);

  /// Appends a row and a timing for each job of the case; what fails is a row with verdict `error`.
  void run(const Case& test, Record& record);
  const nlohmann::json& environment() const { return folder_->environment(); }

 private:
  RunOptions options_;
  std::string no_cuda_;
  std::unique_ptr<Executor> cuda_, host_;
  std::optional<CaptureFolder> folder_;
};

/// The captures folder of a run in this environment.
CaptureFolder folder_of(const RunOptions& options, const nlohmann::json& environment);

/// The rows of a case that no process came back from: `error` with this reason, but what cannot run is
/// skipped and what `folder` holds is taken from there. Asks this process for its devices.
void append_failed(const Case& test, const RunOptions& options, const CaptureFolder& folder,
                   const std::string& why, Record& record);

}  // namespace ulpscope
