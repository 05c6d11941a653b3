#pragma once
// What an engine's notes should say and sometimes do not: whether it adds an output's products at all.
#include "kernels/vendor/cudnn_graph.hpp"

namespace ulpscope::vendor {

/// Whether an engine transforms its operands (Winograd, FFT), seen from one launch: one operand is 1 at one
/// place and 0 elsewhere, so that every output has at most one product that is not zero. Any sum of products,
/// in any order, gives that product or zero; a transform goes by way of other numbers and is off by its
/// roundings. False where nothing can be learned: kernels of extent 1, no room, more than 64 MiB to look at,
/// 16-bit outputs that hide such errors. Throws Error where the launch fails.
bool transforms_operands(const ConvPlan& plan, const ConvGeometry& geometry, const EngineRequest& request);

}  // namespace ulpscope::vendor
