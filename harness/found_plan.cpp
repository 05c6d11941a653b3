#include "harness/found_plan.hpp"

#include <regex>

#include "harness/bound.hpp"
#include "reference/plan.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {
namespace {

/// Terms of the tensor-core instruction in a kernel's name ("s16816gemm": 16x8x16, "tensor16x8x8"). 0: none.
int block_terms_in(const std::string& engine) {
  static const std::regex instruction("(?:_[a-z]*s|tensor)(16x?8x?|16x?16x?)(8|16)(?:gemm|_)");
  std::smatch found;
  return std::regex_search(engine, found, instruction) ? std::stoi(found[2]) : 0;
}

}  // namespace

void observe_more(Observation& seen, const TensorView& bits, std::int64_t begin) {
  for (std::int64_t i = 0; i < bits.size(); ++i) {
    if (!seen.outputs.empty() && begin + i <= seen.outputs.back()) continue;
    seen.outputs.push_back(begin + i);
    seen.bits.push_back(static_cast<std::uint32_t>(bits.bits_at(i)));
  }
}

std::string found_plan(const Contraction& c, const Operands& operands, DType in, const Observation& seen,
                       const FindOptions& options) {
  if (seen.outputs.empty() || seen.dtype == DType::f64 || in == DType::f64) return "";
  SearchOptions search;
  search.threads = options.threads;
  search.seconds = options.seconds;
  search.block_terms = block_terms_in(options.engine);
  search.confirm = options.confirm;
  std::string why;
  for (const std::string& hint : options.hints)
    if (admits(options.mode, in, *parse_plan(hint), why)) search.hints.push_back(hint);
  // Short data say nothing of the rounding of operands: fp32's own plans, and the mode's, before any other.
  if (in == DType::bf16) search.operands = {OperandFormat::bf16};
  if (in == DType::f16) search.operands = {OperandFormat::fp16};
  if (in == DType::f32)
    for (const OperandFormat f : {OperandFormat::fp32, OperandFormat::tf32_rne, OperandFormat::tf32_rna,
                                  OperandFormat::tf32_rz, OperandFormat::bf16, OperandFormat::fp16}) {
      Plan plan;
      plan.operands.a = plan.operands.b = f;
      if (admits(options.mode, in, plan, why)) search.operands.push_back(f);
    }
  std::string refuted;
  for (const bool admitted : {true, false}) {
    const SearchResult r = find_plans(c, operands, seen, search);
    if (!r.plans.empty()) return r.plans[0];
    if (refuted.empty()) refuted = r.refuted_plan;
    if (admitted && in != DType::f32) break;  // nothing else can have been done to 16-bit operands
    search.operands.clear();
  }
  return refuted;
}

}  // namespace ulpscope
