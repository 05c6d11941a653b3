#pragma once
// Judging what was recorded elsewhere: inputs are made again from the case inside the capture, and the stored
// outputs measured against exact. No device is needed.
#include <functional>
#include <string>

#include "harness/capture.hpp"
#include "harness/inputs.hpp"
#include "harness/record.hpp"
#include "harness/run.hpp"

namespace ulpscope {

/// Inputs of the case judged last: captures of one case follow each other in a folder.
struct InputsCache {
  std::string case_text;
  Inputs inputs;
};

/// A capture whose inputs cannot be made again bit for bit gets verdict `error`. `explain`: with the ladder
/// of causes.
Result judge_capture(const Capture& capture, InputsCache& cache, ReplayChoice replay, int threads,
                     bool explain = true);

/// The captures among files and folders of them; throws Error for a folder without any.
std::vector<std::string> capture_paths(const std::vector<std::string>& paths);

/// Judges captures and folders of them; `progress` may be empty. `explain`: as RunOptions has it.
Record judge_captures(const std::vector<std::string>& paths, ReplayChoice replay, int threads,
                      const std::vector<std::string>& argv,
                      const std::function<void(const std::string&)>& progress, bool explain = true);

}  // namespace ulpscope
