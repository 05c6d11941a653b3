#include "kernels/support/device_info.hpp"

namespace ulpscope {

const DeviceInfo& device_info() {
  static const DeviceInfo info = [] {
    DeviceInfo d;
    d.reason = "this build has no CUDA: install the CUDA toolkit (nvcc) and build with `cmake --preset cuda`";
    d.cublas_missing = d.cudnn_missing = d.cupti_missing = d.reason;
    return d;
  }();
  return info;
}

int visible_gpus(std::string& reason) {
  reason = device_info().reason;
  return 0;
}

}  // namespace ulpscope
