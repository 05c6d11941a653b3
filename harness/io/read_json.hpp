#pragma once
// JSON that others wrote.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope {

/// A member of a document: the names that lead to it, "" for whatever element of a list.
using JsonPlace = std::vector<std::string>;

/// The text as JSON, the members at `unread` as if they had not been written: they are checked, never held.
/// Throws Error, in words that follow "FILE is no record: ", if it is no JSON or more than 32 levels deep:
/// the library copies, compares and writes by recursion, and nothing here needs more than a dozen.
nlohmann::json read_json(std::string_view text, const std::vector<JsonPlace>& unread = {});

}  // namespace ulpscope
