#pragma once
// Operands carried in two short parts, as kernels do that want nearly fp32 from tensor cores.
#include <optional>
#include <string>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/exact.hpp"

namespace ulpscope {

/// The first stage of a plan ("bf16 passes lo*hi hi*lo hi*hi") whose sums, in some order, account for every
/// result `seen`; none if no such scheme does. Judged by what is left over, which proves no order.
std::optional<std::string> split_that_fits(const Contraction& c, const Operands& operands,
                                           const std::vector<double>& seen, DType out, int threads);

}  // namespace ulpscope
