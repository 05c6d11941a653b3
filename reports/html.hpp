#pragma once
#include <string>
#include <vector>

#include "reports/record_view.hpp"

namespace ulpscope {

/// What the page shows beside the record: documents that `explain --json`, `drift --json` and
/// `self-test --json` wrote.
struct HtmlExtras {
  struct Document {
    std::string name, text;
  };
  std::vector<Document> explanations, drifts, self_tests;
};

/// A page in one file that works offline and asks nothing of any server. Throws Error on extras of another
/// schema or type.
std::string render_html(const RecordView& record, const HtmlExtras& extras);

}  // namespace ulpscope
