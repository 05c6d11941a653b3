#include "kernels/vendor/kernel_trace.hpp"

namespace ulpscope::vendor {
namespace {

// Demangled template kernels run to kilobytes; what tells engines apart comes first.
constexpr std::size_t kLongest = 160;

std::string shortened(std::string name) {
  if (name.rfind("void ", 0) == 0) name.erase(0, 5);
  if (name.size() > kLongest) name = name.substr(0, kLongest) + "...";
  return name;
}

}  // namespace

std::string summarize_kernels(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size();) {
    std::size_t repeats = 1;
    while (i + repeats < names.size() && names[i + repeats] == names[i]) ++repeats;
    if (!text.empty()) text += " + ";
    text += shortened(names[i]);
    if (repeats > 1) text += " x" + std::to_string(repeats);
    i += repeats;
  }
  return text;
}

}  // namespace ulpscope::vendor
