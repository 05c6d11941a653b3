#pragma once
// What --device says: where variants run, and which processes share the cases.
#include <string>
#include <vector>

namespace ulpscope {

enum class DeviceChoice { automatic, cpu, cuda };

/// Processes that share a run's cases, each with a GPU or, as a stand-in, with none.
struct Workers {
  bool all_gpus = false;
  std::vector<int> gpus;  // numbers among the GPUs that CUDA shows this process
  int host = 0;           // processes without a GPU
  bool any() const { return all_gpus || !gpus.empty() || host > 0; }
};

struct DeviceOption {
  DeviceChoice where = DeviceChoice::automatic;
  Workers workers;
};

/// "auto", "cpu", "cuda" (this process, the first GPU); "cuda:all", "cuda:0,2" (a process for each of these
/// GPUs); "cpu:4" (four processes on the CPU). Throws Error on anything else. Whether the GPUs are there is
/// not looked at.
DeviceOption parse_device(const std::string& text);

}  // namespace ulpscope
