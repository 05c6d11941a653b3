#pragma once
// What this machine's device and its libraries are, as plain data: usable by builds without CUDA too.
#include <cstdint>
#include <string>

namespace ulpscope {

struct DeviceInfo {
  bool available = false;
  std::string reason;  // why not, one line that says what to do; empty when available
  std::string name;
  int index = 0;
  int multiprocessors = 0;
  int cc_major = 0, cc_minor = 0;  // compute capability
  std::int64_t memory_bytes = 0, shared_bytes_per_block = 0;
  int clock_khz = 0;
  std::string pci_bus, uuid;
  int driver_version = 0, runtime_version = 0;               // as CUDA gives them: 13000 = 13.0
  std::string cublas_version, cudnn_version, cupti_version;  // "13.1.0"; "" when not loaded
  std::string cublas_missing, cudnn_missing, cupti_missing;  // why not loaded
};

/// Asks once per process and remembers; never throws and never hangs: without a device (or without CUDA in
/// the build) `reason` says so.
const DeviceInfo& device_info();

/// How many GPUs CUDA shows this process; 0, and the reason, if none.
int visible_gpus(std::string& reason);

}  // namespace ulpscope
