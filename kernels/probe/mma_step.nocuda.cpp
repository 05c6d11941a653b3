#include "kernels/probe/mma_step.hpp"
#include "reference/error.hpp"

namespace ulpscope {

std::vector<std::uint32_t> mma_step(MmaKind, const std::vector<std::uint32_t>&,
                                    const std::vector<std::uint32_t>&, const std::vector<std::uint32_t>&) {
  throw Error("this program was built without CUDA: build the preset cuda to probe a device");
}

}  // namespace ulpscope
