#include "kernels/vendor/libraries.hpp"

namespace ulpscope::vendor {

const LibraryState& cudnn_state() {
  static const LibraryState state{
      "", "this build has no cuDNN: install its headers (cudnn_graph.h) and nvcc, then configure again", ""};
  return state;
}

}  // namespace ulpscope::vendor
