#include "kernels/support/device_info.hpp"

#include <cuda_runtime_api.h>

#include <cstdio>

#include "kernels/support/device.hpp"
#include "kernels/vendor/libraries.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += hex;
  }
  return text;
}

int count_devices() {
  int driver = 0, count = 0;
  cudaDriverGetVersion(&driver);
  // Without any driver the runtime would call it too old, which sends people the wrong way.
  if (driver == 0)
    throw Error("no NVIDIA driver here: run on a machine with a GPU, or judge a stored capture");
  cuda::check(cudaGetDeviceCount(&count), "looking for a GPU");
  return count;
}

void query(DeviceInfo& d) {
  cudaRuntimeGetVersion(&d.runtime_version);
  cudaDriverGetVersion(&d.driver_version);
  count_devices();
  cuda::check(cudaGetDevice(&d.index), "cudaGetDevice");
  cudaDeviceProp p{};
  cuda::check(cudaGetDeviceProperties(&p, d.index), "cudaGetDeviceProperties");
  d.name = p.name;
  d.multiprocessors = p.multiProcessorCount;
  d.cc_major = p.major;
  d.cc_minor = p.minor;
  d.memory_bytes = static_cast<std::int64_t>(p.totalGlobalMem);
  d.shared_bytes_per_block = static_cast<std::int64_t>(p.sharedMemPerBlockOptin);
  cuda::check(cudaDeviceGetAttribute(&d.clock_khz, cudaDevAttrClockRate, d.index), "cudaDeviceGetAttribute");
  char bus[32] = {};
  cuda::check(cudaDeviceGetPCIBusId(bus, sizeof bus, d.index), "cudaDeviceGetPCIBusId");
  d.pci_bus = bus;
  d.uuid = uuid_text(p.uuid);
  d.available = true;
}

}  // namespace

const DeviceInfo& device_info() {
  static const DeviceInfo info = [] {
    DeviceInfo d;
    try {
      query(d);
    } catch (const Error& e) {
      d.reason = e.what();
    }
    // The libraries are large: where no device could use them they stay unopened.
    if (!d.available) {
      d.cublas_missing = d.cudnn_missing = d.cupti_missing = d.reason;
      return d;
    }
    d.cublas_version = vendor::cublas_state().version, d.cublas_missing = vendor::cublas_state().missing;
    d.cudnn_version = vendor::cudnn_state().version, d.cudnn_missing = vendor::cudnn_state().missing;
    d.cupti_version = vendor::cupti_state().version, d.cupti_missing = vendor::cupti_state().missing;
    return d;
  }();
  return info;
}

int visible_gpus(std::string& reason) {
  try {
    return count_devices();
  } catch (const Error& e) {
    reason = e.what();
    return 0;
  }
}

}  // namespace ulpscope
