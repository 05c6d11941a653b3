#pragma once
// Why results of one case differ from each other: from what their record holds (plans, a few outputs in bits,
// hashes), for the page.
#include <nlohmann/json.hpp>
#include <vector>

#include "reports/record_view.hpp"

namespace ulpscope {

/// One entry for each result, null where nothing is known: {cause, why, outputs, ladder} of the result
/// against the exact one, `same` (names of results with the same bits in all outputs), `others` (compared
/// with, dumps and libraries first), `with` (whose tree is beside its own), `tree` (index into `trees`).
struct Whys {
  nlohmann::json results = nlohmann::json::array();
  nlohmann::json trees = nlohmann::json::array();  // {terms, candidate, reference, same, difference}
};

Whys whys_of(const RecordView& record);

}  // namespace ulpscope
