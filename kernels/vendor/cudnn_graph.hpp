#pragma once
// A convolution as a graph of cuDNN's backend API: candidates from the library's heuristics (or every engine
// by number), filtered by their numerical notes, the first that can be built is taken.
#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/vendor/conv_geometry.hpp"
#include "kernels/vendor/engine_choice.hpp"

namespace ulpscope::vendor {

/// The process's handle, made on first use and never destroyed (at exit the driver may be gone before us).
cudnnHandle_t cudnn_handle();

cudnnDataType_t cudnn_type(DType type);

/// What to look for. engine >= 0 pins one engine by its global number; workspace_limit >= 0 admits no engine
/// that wants more bytes.
struct EngineRequest {
  DType in = DType::f32, out = DType::f32;
  Mode mode = Mode::fp32;
  EngineFamily family = EngineFamily::direct;
  std::int64_t engine = -1;
  Layout layout = Layout::channels_first;
  std::int64_t workspace_limit = -1;
};

/// A convolution bound to an engine, ready to run.
class ConvPlan {
 public:
  virtual ~ConvPlan() = default;
  virtual void run(const void* x, const void* w, const void* y, void* workspace,
                   cudaStream_t stream) const = 0;

  std::int64_t engine = -1;
  EngineNotes notes;
  std::int64_t workspace_bytes = 0;
  std::string origin;       // "heuristics", "fallback heuristics", "by number"
  std::string passed_over;  // engines that came first and do not do what their notes say, and why
};

/// Null, and the library's reasons in `why`, when no engine fits. Throws Error on failures of the library
/// itself.
std::shared_ptr<const ConvPlan> build_plan(const ConvGeometry& geometry, const EngineRequest& request,
                                           std::string& why);

struct EngineInfo {
  std::int64_t engine = 0;
  EngineNotes notes;
  std::int64_t workspace_bytes = 0;
  bool transforms = false;  // as a launch shows (transform_probe.hpp); its notes may not say so
  std::string unsupported;  // the library's reason; "" if a plan can be built
};

/// Every engine the library has for this graph, in order of number.
std::vector<EngineInfo> list_engines(const ConvGeometry& geometry, DType in, DType out);

}  // namespace ulpscope::vendor
