#include "harness/probe/problems.hpp"

#include <string>

namespace ulpscope {

std::vector<Case> probe_problems() {
  // Outputs enough for hundreds of questions a launch, terms enough for several tiles of K, a 3x3 kernel and
  // a dilated one; the second gemm has no extent that is a multiple of 4.
  static const char* const kShapes[] = {"gemm 192x520 * 520x160",
                                        "gemm 101x259 * 259x67",
                                        "linear 128x320 * 192x320",
                                        "conv2d 2x48x18x18 * 64x48x1x1",
                                        "conv2d 2x32x18x18 * 48x32x3x3 p1",
                                        "conv_transpose1d 4x32x96 * 32x40x5 d3",
                                        "dot 1500 * 1500",
                                        "sum 1500",
                                        "gemm 256x4096 * 4096x256"};
  static const char* const kFormats[] = {"", " in=bf16 out=fp32", " in=bf16 out=bf16", " in=fp16 out=fp32",
                                         " in=fp16 out=fp16"};
  std::vector<Case> cases;
  for (const char* shape : kShapes)
    for (const char* format : kFormats)
      cases.push_back(parse_case(std::string(shape) + format + " a=uniform(-1,1) b=uniform(-1,1)"));
  return cases;
}

}  // namespace ulpscope
