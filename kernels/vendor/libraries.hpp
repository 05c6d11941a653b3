#pragma once
// Which vendor libraries this process can use. They are opened at run time, so the program starts, and says
// why a variant is skipped, where they are missing.
#include <string>

namespace ulpscope::vendor {

struct LibraryState {
  std::string version;  // "9.19.0"; "" when missing
  std::string missing;  // why it cannot be used, one line; "" when it can
  std::string path;     // the file that was opened
};

// Each opens its library on the first call and remembers. None throws.
const LibraryState& cublas_state();  // cuBLAS together with cublasLt
const LibraryState& cudnn_state();
const LibraryState& cupti_state();

}  // namespace ulpscope::vendor
