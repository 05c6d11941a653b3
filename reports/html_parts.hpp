#pragma once
// The parts of the HTML page, built in from reports/html/ (embed.cmake).
#include <string_view>

namespace ulpscope::html {

extern const std::string_view kPage;    // the template, with @@NAME@@ where the others go
extern const std::string_view kStyle;   // page.css
extern const std::string_view kChart;   // Chart.js, from the distribution
extern const std::string_view kScript;  // our scripts, in their order

}  // namespace ulpscope::html
