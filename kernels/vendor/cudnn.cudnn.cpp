// cudnn, cudnn_winograd, cudnn_fft: convolutions by cuDNN's backend API, as frameworks call it.
// Order: the library's; found by probing, not declared. Promise: the mode's, by the engine's numerical notes.
// Batches whose tensors pass 2^31-1 elements are cut evenly, because the library indexes with 32 bits.
#include <map>
#include <utility>

#include "kernels/support/bias.hpp"
#include "kernels/support/device.hpp"
#include "kernels/support/device_info.hpp"
#include "kernels/vendor/cudnn_graph.hpp"
#include "kernels/vendor/libraries.hpp"
#include "kernels/vendor/vendor.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

struct Choice {
  std::shared_ptr<const ConvPlan> plan;
  std::string why;
};

std::string key_of(const ConvGeometry& g, const EngineRequest& r) {
  std::string key = std::string(to_string(g.direction)) + " g" + std::to_string(g.groups);
  for (const Shape* shape : {&g.x, &g.w, &g.y, &g.stride, &g.padding, &g.dilation})
    key += " " + ulpscope::to_string(*shape);
  return key + " " + name_of(r.in) + " " + name_of(r.out) + " " + ulpscope::to_string(r.mode) + " " +
         to_string(r.family) + " " + std::to_string(r.engine) +
         (r.layout == Layout::channels_last ? " nhwc " : " nchw ") + std::to_string(r.workspace_limit);
}

// Building asks the heuristics and may compile: milliseconds to seconds. The second, timed launch of a
// variant must not pay for it, so choices are remembered. One thread (registry.hpp).
const Choice& choice_for(const ConvGeometry& geometry, const EngineRequest& request) {
  static std::map<std::string, Choice> remembered;
  const std::string key = key_of(geometry, request);
  const auto found = remembered.find(key);
  if (found != remembered.end()) return found->second;
  if (remembered.size() >= 64) remembered.clear();  // plans hold memory; a sweep sees thousands of shapes
  Choice choice;
  choice.plan = build_plan(geometry, request, choice.why);
  return remembered.emplace(key, std::move(choice)).first->second;
}

// The pieces one call is cut into: (first image, images).
std::vector<std::pair<std::int64_t, std::int64_t>> pieces_of(const ConvGeometry& g) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  const std::int64_t step = images_per_call(g);
  for (std::int64_t from = 0; from < g.images(); from += step)
    pieces.emplace_back(from, std::min(step, g.images() - from));
  return pieces;
}

const void* advanced(const void* base, const Shape& shape, std::int64_t images, DType type) {
  const std::int64_t per_image = elements(shape) / shape[0];
  return static_cast<const char*>(base) + images * per_image * size_of(type);
}

}  // namespace

std::string cudnn_unsupported(const Problem& problem, DType in, DType out, Mode mode,
                              const CudnnOptions& options, Layout layout) {
  if (!device_info().available) return device_info().reason;
  if (!cudnn_state().missing.empty()) return cudnn_state().missing;
  if (std::string why = mode_mismatch(in, out, mode); !why.empty()) return why;
  // Engines that down-convert fp32 data do not say to which 16-bit format.
  if (in == DType::f32 && (mode == Mode::bf16 || mode == Mode::fp16))
    return "cuDNN promises no 16-bit format for fp32 data: use modes fp32, tf32 or strict";
  try {
    const ConvGeometry geometry = geometry_of(problem);
    if (images_per_call(geometry) == 0) return "one image has more than 2^31-1 elements, cuDNN's limit";
    if (geometry.direction == Direction::backward_filter &&
        std::max(elements(geometry.x), elements(geometry.y)) > 0x7fffffff)
      return "the sum runs over more than 2^31-1 elements, cuDNN's limit";
    const EngineRequest request{in, out, mode, options.family, options.engine, layout};
    for (const auto& [from, count] : pieces_of(geometry))
      if (const Choice& c = choice_for(geometry.with_images(count), request); !c.plan)
        return "cuDNN " + cudnn_state().version + ": " + c.why;
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

LaunchNotes run_cudnn(const LaunchArgs& args, const CudnnOptions& options) {
  const ConvGeometry geometry = geometry_of(*args.problem);
  const EngineRequest request{args.in_dtype,
                              args.out_dtype,
                              args.mode,
                              options.family,
                              options.engine,
                              args.layout,
                              args.shape.workspace_bytes};
  auto stream = static_cast<cudaStream_t>(args.stream);
  LaunchNotes notes;
  const auto pieces = pieces_of(geometry);
  if (pieces.empty())
    throw Error("one image has more than 2^31-1 elements, cuDNN's limit: choose a smaller case");
  for (const auto& [from, count] : pieces) {
    const Choice& choice = choice_for(geometry.with_images(count), request);
    if (!choice.plan) throw Error("cuDNN offers no engine: " + choice.why);
    const ConvPlan& plan = *choice.plan;
    const cuda::StreamScratch workspace(static_cast<std::size_t>(plan.workspace_bytes), stream);
    const DType in = args.in_dtype, out = args.out_dtype;
    switch (geometry.direction) {
      case Direction::forward:
        plan.run(advanced(args.a, geometry.x, from, in), args.b, advanced(args.out, geometry.y, from, out),
                 workspace.data(), stream);
        break;
      case Direction::backward_data:
        plan.run(advanced(args.out, geometry.x, from, out), args.b, advanced(args.a, geometry.y, from, in),
                 workspace.data(), stream);
        break;
      case Direction::backward_filter:
        plan.run(args.a, args.out, args.b, workspace.data(), stream);
        break;
    }
    if (from > 0) continue;
    notes.engine = "engine " + std::to_string(plan.engine) + " (" + plan.origin + ")";
    notes.notes = plan.notes.names();
    if (!plan.passed_over.empty()) notes.notes.push_back("passed over " + plan.passed_over);
    notes.workspace_bytes = plan.workspace_bytes;
    notes.shape = args.shape.workspace_bytes < 0
                      ? std::string("any workspace")
                      : "workspace up to " + std::to_string(args.shape.workspace_bytes);
  }
  notes.notes.push_back(std::string("cuDNN ") + cudnn_state().version + " " + to_string(geometry.direction));
  if (pieces.size() > 1)
    notes.notes.push_back("batch in " + std::to_string(pieces.size()) + " calls of up to " +
                          std::to_string(pieces.front().second) + " images");
  if (args.problem->params.bias) {
    cuda::add_contraction_bias(args);
    notes.notes.push_back("bias added by a kernel of its own");
  }
  return notes;
}

std::vector<std::string> describe_cudnn_engines(const Problem& problem, DType in, DType out) {
  std::vector<std::string> lines;
  for (const EngineInfo& e : list_engines(geometry_of(problem), in, out)) {
    std::string line = "engine " + std::to_string(e.engine);
    for (const std::string& note : e.notes.names()) line += " " + note;
    line += e.unsupported.empty() ? ", workspace " + std::to_string(e.workspace_bytes) : ": " + e.unsupported;
    if (e.transforms) line += ", seen to transform its operands";
    lines.push_back(line);
  }
  return lines;
}

namespace {

Variant backend_variant(const char* name, const char* summary, EngineFamily family, std::vector<Mode> modes) {
  Variant v;
  v.name = name;
  v.summary = summary;
  v.source = "kernels/vendor/cudnn.cudnn.cpp";
  v.where = Where::cuda;
  v.vendor = true;
  v.modes = std::move(modes);
  v.plan = [](const Problem&, Mode) { return std::string(); };
  v.unsupported = [family](const Problem& p, DType in, DType out, Mode mode) {
    return cudnn_unsupported(p, in, out, mode, {family});
  };
  v.channels_last = [family](const Problem& p, DType in, DType out, Mode mode) {
    return cudnn_unsupported(p, in, out, mode, {family}, Layout::channels_last);
  };
  v.launch = [family](const LaunchArgs& args) { return run_cudnn(args, {family}); };
  return v;
}

const std::vector<std::string> kConvolutions{"conv1d",
                                             "conv2d",
                                             "conv3d",
                                             "conv_transpose1d",
                                             "conv_transpose2d",
                                             "conv_transpose3d",
                                             "conv1d_backward_input",
                                             "conv2d_backward_input",
                                             "conv3d_backward_input",
                                             "conv1d_backward_weight",
                                             "conv2d_backward_weight",
                                             "conv3d_backward_weight"};

const Register direct{
    backend_variant("cudnn", "cuDNN, the engine its heuristics put first among those the mode admits",
                    EngineFamily::direct, {Mode::fp32, Mode::tf32, Mode::strict, Mode::bf16, Mode::fp16}),
    kConvolutions};
const Register winograd{
    backend_variant("cudnn_winograd", "cuDNN, a Winograd engine: other bounds than a plain sum",
                    EngineFamily::winograd, {Mode::fp32, Mode::tf32, Mode::fp16}),
    {"conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "conv2d_backward_input",
     "conv2d_backward_weight"}};
const Register fft{backend_variant("cudnn_fft", "cuDNN, an FFT engine: other bounds than a plain sum",
                                   EngineFamily::fft, {Mode::fp32}),
                   {"conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "conv2d_backward_input",
                    "conv2d_backward_weight"}};

}  // namespace
}  // namespace ulpscope::vendor
