#pragma once
// A record as text for other programs and for people. Renderers only show what a record holds.
#include <cstddef>
#include <string>
#include <vector>

#include "reports/record_view.hpp"

namespace ulpscope {

/// For a pull request's comment or a step summary: verdict first, findings before passes, cut (and saying so)
/// to stay below `limit` bytes.
std::string render_markdown(const RecordView& record, std::size_t limit = 60 << 10);

/// JUnit XML in the dialect that Jenkins, GitLab and Maven Surefire read: a suite per case, a test case per
/// variant and mode. Findings are failures or errors; skipped and excused results are skipped.
std::string render_junit(const RecordView& record);

/// SARIF 2.1.0: one result per finding, at the variant's source file. At most 5,000, which is what GitHub
/// shows; what was cut is said in a notification.
std::string render_sarif(const RecordView& record);

/// RFC 4180 with a header line: one row per result, numbers with all their digits.
std::string render_csv(const RecordView& record);

/// The record itself, in the order and layout that `run` writes.
std::string render_json(const RecordView& record);

}  // namespace ulpscope
