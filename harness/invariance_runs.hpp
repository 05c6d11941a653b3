#pragma once
// One variant run in circumstances that should not matter: again, with fewer rows or images in the batch, at
// another place in it, with zeros appended to the sum, with operands stored the other way, launched in
// another shape.
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "harness/inputs.hpp"
#include "harness/invariance.hpp"
#include "kernels/support/executor.hpp"

namespace ulpscope {

struct InvarianceFinding {
  Circumstance circumstance = Circumstance::repeat;
  std::string skipped;      // why it could not be tried; then there is no report
  InvarianceReport report;  // of the first image or row of the batch, or of all outputs
  bool promised = false;    // the variant declares one plan for all these runs: the bits must not differ
  std::string remark;       // what of the circumstance could not be tried, and why
};

/// All circumstances, one after another, or `only` some. `executor` gets other inputs. Throws Error if the
/// variant fails.
std::vector<InvarianceFinding> try_circumstances(const Case& test, const Inputs& inputs,
                                                 const Variant& variant, Mode mode, Executor& executor,
                                                 double search_seconds, int threads,
                                                 const std::vector<Circumstance>& only = {});

}  // namespace ulpscope
