#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kernels/support/registry.hpp"
#include "reference/search/search.hpp"

namespace ulpscope {

struct FindOptions {
  Mode mode = Mode::fp32;  // plans that it admits are tried first: where the data cannot tell, they are named
  std::string engine;      // a kernel's name: only the order of trials follows from it
  std::vector<std::string> hints;  // plans to try first, such as those found for other calls
  std::function<bool(const Plan&)>
      confirm;          // a last test of plans that give every observed bit; may be empty
  double seconds = 60;  // for each of the two searches
  int threads = 0;
};

/// Adds the outputs [begin, begin + bits.size()) to what was seen, but none at or before the last one there.
void observe_more(Observation& seen, const TensorView& bits, std::int64_t begin);

/// The plan of an implementation that declares none, searched for in some of its outputs (reference/search):
/// among those that the mode admits, then among all (TF32 where fp32 was promised). `in` is the format of the
/// stored operands. A plan that only fails `confirm` is returned if there is no better: its replay tells how
/// far it goes. Empty: none gives the observed bits.
std::string found_plan(const Contraction& c, const Operands& operands, DType in, const Observation& seen,
                       const FindOptions& options);

}  // namespace ulpscope
