#pragma once
#include <cudnn.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/vendor/cudnn_api.hpp"

namespace ulpscope::vendor {

/// Owner of a backend descriptor: attributes are set, then it is finalized.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    check(cudnn().BackendCreateDescriptor(type, &descriptor_), "cudnnBackendCreateDescriptor");
  }
  ~Descriptor() {
    if (descriptor_) cudnn().BackendDestroyDescriptor(descriptor_);
  }
  Descriptor(Descriptor&& o) noexcept : descriptor_(std::exchange(o.descriptor_, nullptr)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(descriptor_, o.descriptor_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                  const void* values) {
    check(cudnn().BackendSetAttribute(descriptor_, name, type, count, values), "cudnnBackendSetAttribute");
    return *this;
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    return set(name, type, 1, &value);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
  }

  /// The status tells "not supported" from failure, so it is returned.
  cudnnStatus_t finalize() { return cudnn().BackendFinalize(descriptor_); }

  /// Reads up to `capacity` values; returns how many there were.
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t capacity,
                   void* values) const {
    std::int64_t count = 0;
    check(cudnn().BackendGetAttribute(descriptor_, name, type, capacity, &count, values),
          "cudnnBackendGetAttribute");
    return count;
  }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace ulpscope::vendor
