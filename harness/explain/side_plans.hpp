#pragma once
// The plan of one dumped result: what people write by hand is tried beside the libraries' family.
#include <cstdint>
#include <string>
#include <vector>

#include "harness/explain/side.hpp"
#include "reference/search/search.hpp"

namespace ulpscope {

/// Whether 16-bit results are the exact result's roundings but for a few, in which an accumulator's error may
/// have tipped the last rounding. A plan that shortens the operands further and gives those few is luck.
bool tipped_only(const Contraction& c, const TensorView& y, const Truth& truth);

/// As find_plans; `options.seconds` and `options.hints` hold for the family's search. `tipped`: plans that
/// leave the operands as they are come first.
SearchResult search_plans(const Contraction& c, const Operands& operands, const TensorView& y, bool tipped,
                          const SearchOptions& options);

/// Whether each output, of up to 2048 looked at, is what `plan`, an unordered one, gives in some order; false
/// for an empty text.
bool some_order_gives(const std::string& plan, const Contraction& c, const Operands& operands,
                      const TensorView& y);

/// Plans that cuBLAS was seen to use for a matrix product with this many rows (H200, K 4096): tried first.
std::vector<std::string> plans_of_batch(std::int64_t rows);

}  // namespace ulpscope
