#include "kernels/vendor/cudnn_graph.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/support/device.hpp"
#include "kernels/vendor/cudnn_descriptor.hpp"
#include "kernels/vendor/transform_probe.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

constexpr std::int64_t kX = 1, kW = 2, kY = 3;  // tensors' numbers within a graph

// Larger workspaces are declined: they would starve the outputs under test.
std::int64_t workspace_limit() {
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return std::min<std::int64_t>(std::int64_t{16} << 30, static_cast<std::int64_t>(free / 2));
}

// The graph of one convolution. Members are destroyed in reverse: nothing outlives what it refers to.
struct Graph {
  std::vector<Descriptor> parts;
  Descriptor graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

Descriptor tensor(std::int64_t id, const Shape& shape, DType type, Layout layout) {
  Descriptor t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, cudnn_type(type))
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16})
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape)
      .set(CUDNN_ATTR_TENSOR_STRIDES, packed_strides(shape, layout));
  check(t.finalize(), "describing a tensor");
  return t;
}

struct OperationNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t alpha, beta, conv, x, w, y;
};

OperationNames names_of(Direction direction) {
  switch (direction) {
    case Direction::backward_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
    case Direction::backward_filter:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
    case Direction::forward:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
}

// Null and a reason if the library does not take the graph.
std::unique_ptr<Graph> graph_of(const ConvGeometry& g, DType in, DType out, Layout layout, std::string& why) {
  auto result = std::make_unique<Graph>();
  const OperationNames names = names_of(g.direction);
  // The tensor that the direction computes has the output's type.
  auto type_of = [&](Direction computed) { return g.direction == computed ? out : in; };
  Descriptor x = tensor(kX, g.x, type_of(Direction::backward_data), layout);
  Descriptor w = tensor(kW, g.w, type_of(Direction::backward_filter), layout);
  Descriptor y = tensor(kY, g.y, type_of(Direction::forward), layout);

  Descriptor conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, static_cast<std::int64_t>(g.stride.size()))
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, g.dilation)
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, g.stride)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, g.padding)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, g.padding);
  check(conv.finalize(), "describing a convolution");

  Descriptor operation(names.operation);
  operation.set(names.conv, conv).set(names.x, x).set(names.w, w).set(names.y, y);
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0f).set(names.beta, CUDNN_TYPE_FLOAT, 0.0f);
  cudnnStatus_t status = operation.finalize();
  if (status == CUDNN_STATUS_SUCCESS) {
    result->graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, cudnn_handle())
        .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    status = result->graph.finalize();
  }
  if (status != CUDNN_STATUS_SUCCESS) {
    why = describe(status);
    return nullptr;
  }
  for (Descriptor* part : {&x, &w, &y, &conv, &operation}) result->parts.push_back(std::move(*part));
  return result;
}

EngineNotes notes_of(const Descriptor& engine) {
  cudnnBackendNumericalNote_t list[CUDNN_NUMERICAL_NOTE_TYPE_COUNT + 8] = {};
  const std::int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                        static_cast<std::int64_t>(std::size(list)), list);
  EngineNotes n;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(count, std::size(list)); ++i) switch (list[i]) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        n.tensor_core = true;
        break;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        n.down_convert_inputs = true;
        break;
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        n.reduced_precision_sum = true;
        break;
      case CUDNN_NUMERICAL_NOTE_FFT:
        n.fft = true;
        break;
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        n.nondeterministic = true;
        break;
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        n.winograd = true;
        break;
      default:
        break;
    }
  return n;
}

std::vector<Descriptor> heuristic_configs(const Graph& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (heuristics.finalize() != CUDNN_STATUS_SUCCESS) return {};  // this mode has nothing to say
  const std::int64_t count =
      heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configs.back().get());
  }
  const std::int64_t got =
      heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data());
  while (static_cast<std::int64_t>(configs.size()) > got) configs.pop_back();
  return configs;
}

class GraphPlan final : public ConvPlan {
 public:
  explicit GraphPlan(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {}

  void run(const void* x, const void* w, const void* y, void* workspace, cudaStream_t stream) const override {
    check(cudnn().SetStream(cudnn_handle(), stream), "cudnnSetStream");
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    const std::int64_t ids[] = {kX, kW, kY};
    const void* pointers[] = {x, w, y};
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids)
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers)
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    check(pack.finalize(), "binding the tensors");
    check(cudnn().BackendExecute(cudnn_handle(), plan_.get(), pack.get()), "cudnnBackendExecute");
  }

  // Status of binding the configuration; a plan that could not be built must not be run.
  cudnnStatus_t bind(const Descriptor& config) {
    plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, cudnn_handle())
        .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    const cudnnStatus_t status = plan_.finalize();
    if (status == CUDNN_STATUS_SUCCESS)
      plan_.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &workspace_bytes);
    return status;
  }

 private:
  std::shared_ptr<const Graph> graph_;
  Descriptor plan_{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
};

// Takes configurations one by one until one fits; says why the others did not (the last reason is usually the
// telling one).
class Candidates {
 public:
  Candidates(const ConvGeometry& geometry, const EngineRequest& request, std::shared_ptr<const Graph> graph)
      : geometry_(geometry), request_(request), graph_(std::move(graph)), limit_(workspace_limit()) {
    if (request.workspace_limit >= 0) limit_ = std::min(limit_, request.workspace_limit);
  }

  std::shared_ptr<const ConvPlan> take(const Descriptor& config, const Descriptor& engine,
                                       const char* origin) {
    std::int64_t index = -1;
    engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    const std::string name = "engine " + std::to_string(index);
    const EngineNotes notes = notes_of(engine);
    const bool pinned = request_.engine >= 0;
    if (pinned && index != request_.engine) return nullptr;
    if (!pinned)
      if (const std::string no = refusal(notes, request_.family, request_.in, request_.mode); !no.empty()) {
        if (why.empty()) why = name + " has " + no;
        return nullptr;
      }
    auto plan = std::make_shared<GraphPlan>(graph_);
    const cudnnStatus_t status = plan->bind(config);
    if (status != CUDNN_STATUS_SUCCESS) {
      why = name + ": " + describe(status);
      return nullptr;
    }
    if (plan->workspace_bytes > limit_) {
      why = name + " wants a workspace of " + std::to_string(plan->workspace_bytes) + " bytes";
      return nullptr;
    }
    if (!pinned && request_.family == EngineFamily::direct &&
        transforms_operands(*plan, geometry_, request_)) {
      why = name + " transforms its operands, and its notes do not say so";
      passed_over_ += (passed_over_.empty() ? "" : "; ") + why;
      return nullptr;
    }
    plan->engine = index;
    plan->notes = notes;
    plan->origin = origin;
    plan->passed_over = passed_over_;
    return plan;
  }

  std::string why;

 private:
  const ConvGeometry& geometry_;
  const EngineRequest& request_;
  std::shared_ptr<const Graph> graph_;
  std::int64_t limit_;
  std::string passed_over_;
};

std::int64_t engine_count(const Graph& graph) {
  std::int64_t count = 0;
  graph.graph.get(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1, &count);
  return count;
}

// The engine with its default knobs; false and a reason if it does not take the graph.
bool engine_by_number(const Graph& graph, std::int64_t index, Descriptor& engine, Descriptor& config,
                      std::string& why) {
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.graph)
      .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index);
  cudnnStatus_t status = engine.finalize();
  if (status == CUDNN_STATUS_SUCCESS) status = config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine).finalize();
  if (status != CUDNN_STATUS_SUCCESS) why = describe(status);
  return status == CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnHandle_t cudnn_handle() {
  static const cudnnHandle_t handle = [] {
    cudnnHandle_t h = nullptr;
    check(cudnn().Create(&h), "cudnnCreate");
    return h;
  }();
  return handle;
}

cudnnDataType_t cudnn_type(DType type) {
  switch (type) {
    case DType::f32:
      return CUDNN_DATA_FLOAT;
    case DType::f16:
      return CUDNN_DATA_HALF;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f64:
      return CUDNN_DATA_DOUBLE;
  }
  throw Error("cuDNN has no such data type");
}

std::shared_ptr<const ConvPlan> build_plan(const ConvGeometry& geometry, const EngineRequest& request,
                                           std::string& why) {
  std::shared_ptr<const Graph> graph = graph_of(geometry, request.in, request.out, request.layout, why);
  if (!graph) return nullptr;
  Candidates candidates(geometry, request, graph);
  struct Source {
    cudnnBackendHeurMode_t mode;
    const char* name;
  };
  // Frameworks take the instant heuristics' first fit, so that is what a user meets.
  for (const Source& source : {Source{CUDNN_HEUR_MODE_INSTANT, "heuristics"},
                               Source{CUDNN_HEUR_MODE_FALLBACK, "fallback heuristics"}}) {
    for (const Descriptor& config : heuristic_configs(*graph, source.mode)) {
      Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      cudnnBackendDescriptor_t raw = engine.get();
      config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
      if (auto plan = candidates.take(config, engine, source.name)) return plan;
    }
  }
  for (std::int64_t i = 0, count = engine_count(*graph); i < count; ++i) {
    Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR), config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    std::string no;
    if (!engine_by_number(*graph, i, engine, config, no)) continue;
    if (auto plan = candidates.take(config, engine, "by number")) return plan;
  }
  why = candidates.why.empty() ? "the library has no engine for this convolution" : candidates.why;
  return nullptr;
}

std::vector<EngineInfo> list_engines(const ConvGeometry& geometry, DType in, DType out) {
  std::string why;
  const std::shared_ptr<const Graph> graph = graph_of(geometry, in, out, Layout::channels_first, why);
  if (!graph) throw Error("cuDNN does not take this convolution: " + why);
  std::vector<EngineInfo> list;
  for (std::int64_t i = 0, count = engine_count(*graph); i < count; ++i) {
    EngineInfo info;
    info.engine = i;
    Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR), config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (engine_by_number(*graph, i, engine, config, info.unsupported)) {
      info.notes = notes_of(engine);
      GraphPlan plan(graph);
      const cudnnStatus_t status = plan.bind(config);
      if (status != CUDNN_STATUS_SUCCESS) info.unsupported = describe(status);
      info.workspace_bytes = plan.workspace_bytes;
      if (info.unsupported.empty() && plan.workspace_bytes <= workspace_limit())
        info.transforms = transforms_operands(plan, geometry, {.in = in, .out = out});
    }
    list.push_back(info);
  }
  return list;
}

}  // namespace ulpscope::vendor
