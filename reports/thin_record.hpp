#pragma once
#include <string>
#include <string_view>

namespace ulpscope {

/// The text of a record without its `explanation` and `cases` members, which nothing is gated by: less than
/// half of it is left to parse and to hold. Text that is no JSON comes back as some text that is none either.
std::string without_explanations(std::string_view record);

}  // namespace ulpscope
