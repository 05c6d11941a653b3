#include "kernels/support/device.hpp"

#include <atomic>
#include <cstdio>

#include "reference/error.hpp"

namespace ulpscope::cuda {
namespace {

// What a user can do about a status; the error's own text only says what happened.
const char* advice(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "choose a smaller case or free memory on the device (nvidia-smi shows who holds it)";
    case cudaErrorNoDevice:
      return "run on a machine with an NVIDIA GPU, or judge a stored capture";
    case cudaErrorInsufficientDriver:
      return "update the NVIDIA driver: it is older than the CUDA runtime of this build";
    case cudaErrorInvalidDevice:
      return "choose a device that exists: `nvidia-smi -L` lists them";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidPtx:
      return "rebuild with this chip in ULPSCOPE_CUDA_ARCHITECTURES";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
      return "the device context is lost: rerun the case alone under `compute-sanitizer --tool memcheck`";
    case cudaErrorLaunchTimeout:
      return "the display watchdog ended the kernel: use a device without a display";
    case cudaErrorLaunchOutOfResources:
    case cudaErrorInvalidConfiguration:
      return "the launch asks for more threads, registers or shared memory than this chip has";
    case cudaErrorDevicesUnavailable:
    case cudaErrorInitializationError:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
      return "check `nvidia-smi`: another process holds the device, or driver and library do not match";
    case cudaErrorECCUncorrectable:
      return "the device's memory is faulty: use another device";
    default:
      return "see the CUDA runtime documentation for this status";
  }
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // a status that was reported must not resurface at the next launch
  throw Error(std::string(call) + " failed: " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) +
              "); " + advice(status));
}

void check_noexcept(cudaError_t status, const char* call) noexcept {
  // At process exit the driver may be gone before our statics: that is no fault.
  if (status == cudaSuccess || status == cudaErrorCudartUnloading) return;
  static std::atomic<bool> reported{false};
  if (!reported.exchange(true))
    std::fprintf(stderr, "ulpscope: %s failed while cleaning up: %s\n", call, cudaGetErrorName(status));
}

void check_launch(const char* kernel) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) check(status, (std::string("launch of ") + kernel).c_str());
}

Stream::Stream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}
Stream::~Stream() {
  if (stream_) check_noexcept(cudaStreamDestroy(stream_), "cudaStreamDestroy");
}
void Stream::synchronize(const char* what) const {
  check(cudaStreamSynchronize(stream_), what);
}

Event::Event() {
  check(cudaEventCreate(&event_), "cudaEventCreate");
}
Event::~Event() {
  if (event_) check_noexcept(cudaEventDestroy(event_), "cudaEventDestroy");
}
void Event::record(cudaStream_t stream) {
  check(cudaEventRecord(event_, stream), "cudaEventRecord");
}
void Event::wait() const {
  check(cudaEventSynchronize(event_), "cudaEventSynchronize");
}
double Event::milliseconds(const Event& from, const Event& to) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, from.event_, to.event_), "cudaEventElapsedTime");
  return static_cast<double>(ms);
}

DeviceMemory::DeviceMemory(std::size_t bytes, const char* what) : bytes_(bytes) {
  if (bytes == 0) return;
  const cudaError_t status = cudaMalloc(&data_, bytes);
  if (status != cudaSuccess)
    check(status, ("allocation of " + std::to_string(bytes) + " bytes for " + what).c_str());
}
DeviceMemory::~DeviceMemory() {
  if (data_) check_noexcept(cudaFree(data_), "cudaFree");
}

PinnedMemory::PinnedMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes != 0) check(cudaMallocHost(&data_, bytes), "cudaMallocHost");
}
PinnedMemory::~PinnedMemory() {
  if (data_) check_noexcept(cudaFreeHost(data_), "cudaFreeHost");
}

StreamScratch::StreamScratch(std::size_t bytes, cudaStream_t stream) : stream_(stream) {
  if (bytes == 0) return;
  const cudaError_t status = cudaMallocAsync(&data_, bytes, stream);
  if (status != cudaSuccess)
    check(status, ("allocation of " + std::to_string(bytes) + " bytes of scratch").c_str());
}
StreamScratch::~StreamScratch() {
  if (data_) check_noexcept(cudaFreeAsync(data_, stream_), "cudaFreeAsync");
}

void copy_to_device(void* device, const void* host, std::size_t bytes, cudaStream_t stream) {
  if (bytes)
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream), "copy to the device");
}
void copy_to_host(void* host, const void* device, std::size_t bytes, cudaStream_t stream) {
  if (bytes) check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream), "copy to the host");
}

}  // namespace ulpscope::cuda
