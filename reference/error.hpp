#pragma once
#include <stdexcept>
#include <string>

namespace ulpscope {

/// The one exception type: a failure of use, input, library or device. Its text is one line that says what to
/// do. Numerical findings (a NaN, a violated bound) are values, never exceptions.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what) : std::runtime_error(what) {}
};

}  // namespace ulpscope
