#include "kernels/support/guarded_output.hpp"

#include "kernels/support/bits.hpp"
#include "kernels/support/executor.hpp"

namespace ulpscope::cuda {

GuardedOutput::GuardedOutput(DType type, std::int64_t count)
    : type_(type),
      count_(count),
      memory_(static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type)) + 2 * kGuardBytes,
              "an output") {}

std::size_t GuardedOutput::payload_bytes() const {
  return static_cast<std::size_t>(count_) * static_cast<std::size_t>(size_of(type_));
}

void* GuardedOutput::data() const {
  return memory_.as<unsigned char>() + kGuardBytes;
}

void GuardedOutput::poison(int run, cudaStream_t stream) {
  auto* base = memory_.as<unsigned char>();
  check(cudaMemsetAsync(base, kGuardByte, kGuardBytes, stream), "filling a guard");
  check(cudaMemsetAsync(base + kGuardBytes + payload_bytes(), kGuardByte, kGuardBytes, stream),
        "filling a guard");
  fill_bits(data(), type_, count_, poison_bits(type_, run), stream);
}

void GuardedOutput::check_guards(unsigned long long* changed, cudaStream_t stream) const {
  const auto* base = memory_.as<unsigned char>();
  count_changed_bytes(base, kGuardBytes, kGuardByte, changed, stream);
  count_changed_bytes(base + kGuardBytes + payload_bytes(), kGuardBytes, kGuardByte, changed, stream);
}

}  // namespace ulpscope::cuda
