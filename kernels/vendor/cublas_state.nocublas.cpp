#include "kernels/vendor/libraries.hpp"

namespace ulpscope::vendor {

const LibraryState& cublas_state() {
  static const LibraryState state{
      "", "this build has no cuBLAS: install its headers (cublasLt.h) and nvcc, then configure again", ""};
  return state;
}

}  // namespace ulpscope::vendor
