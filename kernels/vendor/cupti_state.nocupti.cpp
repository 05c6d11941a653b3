#include "kernels/vendor/libraries.hpp"

namespace ulpscope::vendor {

const LibraryState& cupti_state() {
  static const LibraryState state{
      "", "this build has no CUPTI: install its headers (cupti.h) and nvcc, then configure again", ""};
  return state;
}

}  // namespace ulpscope::vendor
