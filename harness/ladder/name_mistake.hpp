#pragma once
// A result beyond its bound, and small enough to try: which structural mistake reproduces it?
#include <functional>
#include <optional>

#include "harness/explain/mistakes.hpp"
#include "harness/record.hpp"

namespace ulpscope {

/// Looks where a deterministic result lies outside its bound and no plan gives its bits, for problems of at
/// most 2^22 products and operand elements. `whole` gives the output, dense, and is only called then. Where a
/// mistake reproduces the result its verdict becomes `structural`, with the mistake as the reason; one that
/// is only a place (a channel, a tile) is returned and changes nothing.
std::optional<Mistake> name_mistake(Result& result, const Contraction& c, const Operands& operands,
                                    const std::function<Tensor()>& whole, int threads);

}  // namespace ulpscope
