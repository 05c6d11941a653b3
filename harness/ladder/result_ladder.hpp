#pragma once
// The ladder of causes of one result of a run, from a few outputs of it: the same rungs that `ulpscope
// explain` walks over dumps, cheap enough to keep for every result. It decides nothing: the verdict comes
// from all outputs (harness/judge).
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/capture.hpp"
#include "harness/explain/mistakes.hpp"
#include "harness/record.hpp"
#include "kernels/support/executor.hpp"

namespace ulpscope {

/// Outputs that a record keeps as raw bits (right-aligned), so that any two results of a case can be
/// compared.
struct OutputSample {
  std::vector<WindowRange> ranges;
  std::vector<std::uint32_t> bits;
};

/// Which ones: at most 256 and at most 2^16 terms, in runs of 16, spread evenly over what is `available`,
/// both ends included. Depends on the two arguments alone. Empty where one output has more terms than that.
std::vector<WindowRange> sample_ranges(const std::vector<WindowRange>& available, std::int64_t terms);

/// A kept output, dense; the second form: of windows that cover all of it.
Tensor whole_output(Executor& executor, int output, const Contraction& c, DType out);
Tensor whole_output(const std::vector<Window>& windows, const Contraction& c, DType out);

OutputSample sample_of(Executor& executor, int output, const Contraction& c, DType out);
OutputSample sample_of(const std::vector<Window>& windows, const Contraction& c);

/// {outputs, ranges, bits, operands..., cause, cause_why, ladder, mistake} (reports/schema/run.schema.json),
/// null where nothing can be said. Never throws: an explanation that fails leaves the result as it is.
/// `mistake`: named before (name_mistake.hpp); may be null.
nlohmann::json explain_result(const Result& result, const Contraction& c, const Operands& operands,
                              const OutputSample& sample, const Mistake* mistake, int threads);

/// Both: names a mistake and, if the ladder is to be kept, puts it into the result. `whole` as name_mistake
/// has it.
void explain_in_place(Result& result, const Contraction& c, const Operands& operands,
                      const OutputSample& sample, const std::function<Tensor()>& whole, bool keep,
                      int threads);

}  // namespace ulpscope
