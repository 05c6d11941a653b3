#pragma once
#include <cstdint>
#include <string>

namespace ulpscope {

/// "1 output", "391 outputs": for messages. `noun` takes an s.
inline std::string counted(std::int64_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

/// With its verb: "1 output differs", "391 outputs differ".
inline std::string counted(std::int64_t n, const char* noun, const char* one, const char* many) {
  return counted(n, noun) + " " + (n == 1 ? one : many);
}

}  // namespace ulpscope
