#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope {

/// The choice nearest to a mistyped name by edit distance (adjacent swaps count once), or "" if none is near:
/// at most a third of its length off, or an extension of it.
std::string nearest(std::string_view name, const std::vector<std::string>& choices);

/// ": did you mean 'conv2d'?" or, with nothing near, ": use a, b or c" (long lists are cut).
std::string suggestion(std::string_view name, const std::vector<std::string>& choices);

}  // namespace ulpscope
