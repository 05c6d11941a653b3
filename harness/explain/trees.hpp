#pragma once
// The summation trees of the two sides, drawn for a reader, and where they part.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/explain/explain.hpp"
#include "reference/plan/slots.hpp"
#include "reference/tree/tree.hpp"

namespace ulpscope {

/// The name of a term by its place on the reduction axes: "c3 kw1", with "pass 2" where there are passes.
std::string term_name(std::int64_t term, const std::vector<NamedExtent>& axes, int passes);

/// A tree in a few lines: chains and block steps in one line each, joined sums indented; long ones are cut.
std::string drawing_of(const SummationTree& tree, const std::vector<NamedExtent>& axes);

/// {terms, candidate, reference, same, difference}; null where neither side has a plan of known order, or an
/// output has too many terms to look at.
nlohmann::json trees_of(const Explanation& e, const std::vector<NamedExtent>& axes);

}  // namespace ulpscope
