#pragma once
// What a run leaves in its captures folder, so that it can go on where it stopped: the capture of each job,
// and its finished result beside it. Both are renamed into place.
#include <optional>
#include <string>
#include <vector>

#include "harness/record.hpp"
#include "kernels/support/executor.hpp"

namespace ulpscope {

struct FinishedResult {
  nlohmann::json row, timing;
};

class CaptureFolder {
 public:
  /// `folder` empty: nothing is stored and nothing found. `settings` says what else decides a result (replay
  /// or not).
  CaptureFolder(std::string folder, nlohmann::json environment, const std::string& settings);

  /// The finished result of an earlier run of this case, variant and mode in the same environment. Damaged
  /// and foreign files are no such result.
  std::optional<FinishedResult> finished(const Case& test, const std::string& variant, Mode mode) const;
  void store_result(const Result& result, const FinishedResult& finished) const;

  /// Writes the capture of a kept output: whole, or in windows of `max_bytes` in all.
  void store_capture(const Result& result, Executor& executor, int output, const Contraction& c,
                     std::int64_t max_bytes) const;
  bool in_use() const { return !folder_.empty(); }
  const nlohmann::json& environment() const { return environment_; }

 private:
  std::string result_path(const Case& test, const std::string& variant, Mode mode) const;
  std::string folder_;
  nlohmann::json environment_;
  std::string fingerprint_;
};

}  // namespace ulpscope
