#pragma once
// An explanation as JSON (schema ulpscope.explain/1), Markdown, and plain words.
#include <nlohmann/json.hpp>

#include "harness/explain/explain.hpp"

namespace ulpscope {

nlohmann::json to_json(const Explanation& e);
std::string markdown_of(const Explanation& e);  // the whole ladder of both sides
std::string summary_of(const Explanation& e);   // a reviewer's paragraph

/// Lines of Python that dump what `ulpscope explain` reads.
std::string how_to_dump();

}  // namespace ulpscope
