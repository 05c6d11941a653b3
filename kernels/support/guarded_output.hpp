#pragma once
// An output buffer on the device that shows what a kernel did not write, and what it should not have.
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/support/device.hpp"
#include "reference/formats.hpp"

namespace ulpscope::cuda {

/// [guard | count elements | guard]. The elements start 4096-byte aligned (as strict as any library asks) and
/// the second guard directly after the last byte, so that an overrun by one element is seen.
class GuardedOutput {
 public:
  GuardedOutput() = default;
  GuardedOutput(DType type, std::int64_t count);

  /// Refills both guards, and every element with the poison of launch number `run`. Asynchronous.
  void poison(int run, cudaStream_t stream);

  /// Adds the number of guard bytes that changed to *changed (device memory). Asynchronous.
  void check_guards(unsigned long long* changed, cudaStream_t stream) const;

  bool empty() const { return memory_.data() == nullptr; }
  void* data() const;
  DType type() const { return type_; }
  std::int64_t count() const { return count_; }
  std::size_t payload_bytes() const;

 private:
  DType type_ = DType::f32;
  std::int64_t count_ = 0;
  DeviceMemory memory_;
};

}  // namespace ulpscope::cuda
