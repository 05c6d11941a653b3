#pragma once
// A record's results tried again in other batches: what is added to them, for budgets that demand bits which
// do not depend on the batch.
#include <optional>
#include <vector>

#include "harness/record.hpp"

namespace ulpscope {

/// The cases of a record's results that ran ("device" or "host"), each once, as recorded.
std::vector<Case> cases_that_ran(const Record& record);

/// The result of this case, variant and mode that ran; null if the record has none.
nlohmann::json* result_that_ran(Record& record, const Case& test, const std::string& variant, Mode mode);

/// Throws Error, one line, if what is run here may give other results than the record's own runs.
/// `name` is what messages call the record.
void check_same_environment(const Record& record, const std::string& name, const nlohmann::json& here);

/// Sets `invariance` to the findings, a list of {circumstance, same_bits, ...} and {circumstance, skipped},
/// and `batch_identical`: whether other batches and other places in them gave the same bits; null if none
/// could be tried, and then `batch_not_applicable` says why.
void set_invariance(nlohmann::json& row, const nlohmann::json& findings);

}  // namespace ulpscope
