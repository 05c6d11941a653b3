#pragma once
#include <vector>

#include "harness/case.hpp"

namespace ulpscope {

/// What `ulpscope probe --all` asks about: small problems of every operator that has an order worth probing,
/// aligned and not, with fp32, bf16 and fp16 operands.
std::vector<Case> probe_problems();

}  // namespace ulpscope
