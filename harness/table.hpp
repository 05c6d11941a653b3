#pragma once
#include <string>

#include "harness/record.hpp"

namespace ulpscope {

/// The record for people: a block per case, a line per variant and mode, a tally at the end. ASCII, no
/// colours.
std::string render_table(const Record& record);

}  // namespace ulpscope
