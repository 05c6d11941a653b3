#include "kernels/gemm/gemm_map.hpp"

#include <utility>

#include "reference/error.hpp"

namespace ulpscope {

GemmMap gemm_map(const Contraction& c, int chunk) {
  const OutAxis &batch = c.out.at(0), &i = c.out.at(1), &j = c.out.at(2);
  const RedAxis& k = c.red.at(0);
  GemmMap m;
  m.groups = static_cast<int>(batch.size);
  m.rows = static_cast<int>(i.size);
  m.positions = j.size;
  m.order.channels = static_cast<int>(k.size);
  m.order.chunk = chunk;
  m.a_batch = batch.a_stride, m.a_row = i.a_stride, m.a_k = k.a_stride;
  m.b_batch = batch.b_stride, m.b_column = j.b_stride, m.b_k = k.b_stride;
  return m;
}

std::string gemm_unsupported(const Problem& problem) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 30;  // sums of two such numbers stay below 2^31
  const Contraction c = lower(problem);
  if (c.out.at(0).size >= kLimit) return "a batch of 2^30 or more";
  if (c.out.at(1).size >= kLimit) return "2^30 rows or more";
  if (c.red.at(0).size >= kLimit) return "2^30 terms per output or more";
  return "";
}

std::string gemm_takes_fp32(const Problem& problem, DType in, DType out, Mode) {
  if (in != DType::f32 || out != DType::f32) return "this kernel reads and writes fp32 only";
  return gemm_unsupported(problem);
}

std::string gemm_takes(DType narrow, const Problem& problem, DType in, DType out) {
  for (const DType t : {in, out})
    if (t != DType::f32 && t != narrow)
      return std::string("this kernel reads and writes fp32 and ") + name_of(narrow) + " only";
  if (in == DType::f32 && out != DType::f32) return "fp32 data give fp32 results here";
  return gemm_unsupported(problem);
}

LaunchArgs gemm_args(const LaunchArgs& args) {
  LaunchArgs swapped = args;
  std::swap(swapped.a, swapped.b);
  swapped.bias = nullptr;
  return swapped;
}

std::string with_bias_after(const Problem& problem, const std::string& plan) {
  return problem.params.bias ? plan + " | bias after" : plan;
}

}  // namespace ulpscope
