#pragma once
// The plan of one dumped result: what people write by hand is tried beside the libraries' family.
#include <cstdint>
#include <string>
#include <vector>

#include "reference/search/search.hpp"

namespace ulpscope {

/// As find_plans; `options.seconds` and `options.hints` hold for the family's search.
SearchResult search_plans(const Contraction& c, const Operands& operands, const TensorView& y,
                          const SearchOptions& options);

/// Plans that cuBLAS was seen to use for a matrix product with this many rows (H200, K 4096): tried first.
std::vector<std::string> plans_of_batch(std::int64_t rows);

}  // namespace ulpscope
