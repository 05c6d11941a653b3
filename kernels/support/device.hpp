#pragma once
// Checked CUDA calls and owners of streams, events and memory. Host side only: kernels include launch.cuh.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace ulpscope::cuda {

/// Throws Error "<call> failed: <name> (<text>); <what to do>" unless `status` is cudaSuccess.
///   check(cudaMalloc(&p, n), "cudaMalloc of the output");
void check(cudaError_t status, const char* call);

/// For destructors: reports to stderr once per process, never throws.
void check_noexcept(cudaError_t status, const char* call) noexcept;

/// The status of the launch just made (configuration errors show here), then clears it.
void check_launch(const char* kernel);

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(Stream&& o) noexcept : stream_(std::exchange(o.stream_, nullptr)) {}
  Stream& operator=(Stream&& o) noexcept {
    std::swap(stream_, o.stream_);
    return *this;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  /// Waits; errors of kernels that ran on the stream are thrown here, so name what was run.
  void synchronize(const char* what) const;

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event();
  ~Event();
  Event(Event&& o) noexcept : event_(std::exchange(o.event_, nullptr)) {}
  Event& operator=(Event&& o) noexcept {
    std::swap(event_, o.event_);
    return *this;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream);
  void wait() const;
  /// Milliseconds on the device between two recorded events that have completed.
  static double milliseconds(const Event& from, const Event& to);

 private:
  cudaEvent_t event_ = nullptr;
};

/// Device memory (plain cudaMalloc: 256-byte aligned). Zero bytes is allowed and gives nullptr.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes, const char* what = "device memory");
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Page-locked host memory: the only kind that copies at full speed and asynchronously.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(std::size_t bytes);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
  PinnedMemory& operator=(PinnedMemory&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Scratch a launcher needs for the length of one launch: taken and given back in stream order, so it may go
/// out of scope while the kernels still run.
class StreamScratch {
 public:
  StreamScratch(std::size_t bytes, cudaStream_t stream);
  ~StreamScratch();
  StreamScratch(const StreamScratch&) = delete;
  StreamScratch& operator=(const StreamScratch&) = delete;
  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

/// Copies; host memory may be pageable. The asynchronous order is the stream's.
void copy_to_device(void* device, const void* host, std::size_t bytes, cudaStream_t stream);
void copy_to_host(void* host, const void* device, std::size_t bytes, cudaStream_t stream);

}  // namespace ulpscope::cuda
