#include "kernels/vendor/vendor.hpp"
#include "kernels/vendor/libraries.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {

std::string cublas_unsupported(const Problem&, DType, DType, Mode) {
  return cublas_state().missing;
}
LaunchNotes run_cublas(const LaunchArgs&) {
  throw Error(cublas_state().missing);
}
std::string cublaslt_unsupported(const Problem&, DType, DType, Mode, const CublasLtOptions&) {
  return cublas_state().missing;
}
LaunchNotes run_cublaslt(const LaunchArgs&, const CublasLtOptions&) {
  throw Error(cublas_state().missing);
}

}  // namespace ulpscope::vendor
