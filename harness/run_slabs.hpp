#pragma once
// Judging whole outputs a slab at a time: exact is computed once per slab and every candidate of the case is
// measured against it while the next slab is on its way from the device.
#include <memory>
#include <string>
#include <vector>

#include "harness/judge.hpp"
#include "harness/measure.hpp"
#include "kernels/support/executor.hpp"
#include "reference/plan.hpp"

namespace ulpscope {

/// A part of the outputs that can be computed by itself: the contraction restricted to it, and where its
/// outputs, in that contraction's order, lie in the whole.
struct Slab {
  Contraction part;
  Strip place;
};

/// Cuts the outputs into slabs of about `target` outputs. Channels stay together and positions are cut, so
/// that a slab reads a stretch of the input once for all channels.
std::vector<Slab> cut_slabs(const Contraction& c, std::int64_t target);

/// Whether a plan can be replayed and compared with outputs of this format.
bool predicts_bits(const Plan& plan, DType out);

/// exact() gives S of a mean's sum; what the mean is judged by is that over the divisor (rounded up).
void divide_magnitudes(const Contraction& c, double* magnitude, std::int64_t n);

/// One candidate of the case whose output an executor keeps.
struct Candidate {
  int output = -1;
  OutputBound bound;
  std::shared_ptr<const Plan> plan;  // replayed and compared; null: none
};

struct SlabResult {
  Measurement measured;
  ReplayOutcome replay;  // compared = 0 if nothing was replayed
};

struct SlabOptions {
  DType out = DType::f32;
  std::optional<Tolerance> tolerance;
  double magnitude_limit = 0;
  int threads = 0;
  /// Products to replay at most, over all plans: where all outputs take more, evenly spread slabs are
  /// replayed.
  double replay_budget = 0x1p36;
  std::function<void(std::int64_t done, std::int64_t of)> progress;  // outputs; may be empty
};

/// Measures all candidates over all outputs.
std::vector<SlabResult> judge_slabs(Executor& executor, const Contraction& c, const Operands& operands,
                                    const std::vector<Candidate>& candidates, const SlabOptions& options);

/// Hashes of whole kept outputs, as hash_bytes would give them, streamed.
std::vector<std::string> hash_outputs(Executor& executor, const Contraction& c, DType out,
                                      const std::vector<int>& outputs, int threads);

}  // namespace ulpscope
