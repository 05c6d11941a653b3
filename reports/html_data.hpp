#pragma once
// What the HTML page's scripts read: only what they show, in few digits where it is only drawn.
#include <nlohmann/json_fwd.hpp>

#include "reports/html.hpp"

namespace ulpscope::html {

nlohmann::json page_data(const RecordView& record, const HtmlExtras& extras);

}  // namespace ulpscope::html
