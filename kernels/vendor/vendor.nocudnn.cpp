#include "kernels/vendor/vendor.hpp"
#include "kernels/vendor/libraries.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {

std::string cudnn_unsupported(const Problem&, DType, DType, Mode, const CudnnOptions&, Layout) {
  return cudnn_state().missing;
}
LaunchNotes run_cudnn(const LaunchArgs&, const CudnnOptions&) {
  throw Error(cudnn_state().missing);
}
std::vector<std::string> describe_cudnn_engines(const Problem&, DType, DType) {
  throw Error(cudnn_state().missing);
}
std::string cudnn_legacy_unsupported(const Problem&, DType, DType, Mode) {
  return cudnn_state().missing;
}
LaunchNotes run_cudnn_legacy(const LaunchArgs&) {
  throw Error(cudnn_state().missing);
}

}  // namespace ulpscope::vendor
