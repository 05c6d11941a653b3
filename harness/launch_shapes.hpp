#pragma once
#include <string>
#include <vector>

#include "kernels/support/registry.hpp"

namespace ulpscope {

/// What a launch may be told, beside its call.
struct Telling {
  std::string label;
  LaunchShape shape;
  int threads = 0;  // host threads; 0: as all other runs
};

/// Launch shapes in which a variant should give the same bits, by where it runs and whose it is.
std::vector<Telling> launch_shapes(const Variant& variant);

}  // namespace ulpscope
