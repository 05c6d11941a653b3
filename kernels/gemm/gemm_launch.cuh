#pragma once
// What every gemm variant's launcher does around its tile kernel.
#include "kernels/gemm/gemm_map.hpp"
#include "kernels/support/bias.hpp"

namespace ulpscope {

/// Calls kernel(map, args for the map: `a` is B, `b` is A, no bias) and adds the bias, if there is one, by a
/// kernel of its own. `chunk`: terms that a step of the kernel takes at once, 1 but for tensor cores.
template <class Kernel>
LaunchNotes launch_gemm(const LaunchArgs& args, int chunk, Kernel&& kernel) {
  LaunchNotes notes = kernel(gemm_map(*args.contraction, chunk), gemm_args(args));
  if (args.problem->params.bias) {
    cuda::add_contraction_bias(args);
    notes.notes.push_back("bias added by a kernel of its own");
  }
  return notes;
}

}  // namespace ulpscope
