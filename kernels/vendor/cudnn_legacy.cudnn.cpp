// cudnn_legacy: convolutions by cuDNN's older API, which many programs still call: an algorithm per direction
// and a math type. CUDNN_DEFAULT_MATH permits TF32 from Ampere on; CUDNN_FMA_MATH does not.
// Order: the library's; found by probing, not declared. Promise: the mode's; algorithms named Winograd or FFT
// are left out, and in strict those that the library calls nondeterministic.
#include <algorithm>
#include <functional>

#include "kernels/support/bias.hpp"
#include "kernels/support/device.hpp"
#include "kernels/support/device_info.hpp"
#include "kernels/vendor/cudnn_api.hpp"
#include "kernels/vendor/cudnn_graph.hpp"
#include "kernels/vendor/libraries.hpp"
#include "kernels/vendor/vendor.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

// Owner of a descriptor of the older API.
template <class Handle>
class Old {
 public:
  Old(cudnnStatus_t (*create)(Handle*), cudnnStatus_t (*destroy)(Handle)) : destroy_(destroy) {
    check(create(&handle_), "creating a descriptor");
  }
  ~Old() { destroy_(handle_); }
  Old(const Old&) = delete;
  Old& operator=(const Old&) = delete;
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  cudnnStatus_t (*destroy_)(Handle);
};

std::vector<int> as_int(const Shape& shape) {
  std::vector<int> v;
  for (const std::int64_t x : shape) {
    if (x > 0x7fffffff) throw Error("an extent or stride passes 2^31-1, the older cuDNN API's limit");
    v.push_back(static_cast<int>(x));
  }
  return v;
}

struct Descriptors {
  Old<cudnnTensorDescriptor_t> x{cudnn().CreateTensorDescriptor, cudnn().DestroyTensorDescriptor};
  Old<cudnnTensorDescriptor_t> y{cudnn().CreateTensorDescriptor, cudnn().DestroyTensorDescriptor};
  Old<cudnnFilterDescriptor_t> w{cudnn().CreateFilterDescriptor, cudnn().DestroyFilterDescriptor};
  Old<cudnnConvolutionDescriptor_t> conv{cudnn().CreateConvolutionDescriptor,
                                         cudnn().DestroyConvolutionDescriptor};

  Descriptors(const ConvGeometry& g, DType type, Mode mode) {
    auto tensor = [&](cudnnTensorDescriptor_t t, const Shape& shape) {
      const std::vector<int> dims = as_int(shape), strides = as_int(packed_strides(shape));
      check(cudnn().SetTensorNdDescriptor(t, cudnn_type(type), static_cast<int>(dims.size()), dims.data(),
                                          strides.data()),
            "cudnnSetTensorNdDescriptor");
    };
    tensor(x.get(), g.x);
    tensor(y.get(), g.y);
    const std::vector<int> dims = as_int(g.w);
    check(cudnn().SetFilterNdDescriptor(w.get(), cudnn_type(type), CUDNN_TENSOR_NCHW,
                                        static_cast<int>(dims.size()), dims.data()),
          "cudnnSetFilterNdDescriptor");
    const std::vector<int> pad = as_int(g.padding), stride = as_int(g.stride), dilation = as_int(g.dilation);
    check(cudnn().SetConvolutionNdDescriptor(conv.get(), static_cast<int>(pad.size()), pad.data(),
                                             stride.data(), dilation.data(), CUDNN_CROSS_CORRELATION,
                                             CUDNN_DATA_FLOAT),
          "cudnnSetConvolutionNdDescriptor");
    check(cudnn().SetConvolutionGroupCount(conv.get(), static_cast<int>(g.groups)),
          "cudnnSetConvolutionGroupCount");
    const bool fma = mode == Mode::fp32 || mode == Mode::strict;
    const cudnnMathType_t math = fma ? CUDNN_FMA_MATH
                                 : type == DType::f32 && mode != Mode::tf32
                                     ? CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION
                                     : CUDNN_DEFAULT_MATH;
    check(cudnn().SetConvolutionMathType(conv.get(), math), "cudnnSetConvolutionMathType");
  }
};

// What is common to the three directions' lists of algorithms.
struct Algorithm {
  int number = -1;
  std::string name;
  std::size_t workspace = 0;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  bool deterministic = true;
  std::string why;  // none fits
};

const char* kForward[] = {"IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM", "DIRECT", "FFT", "FFT_TILING",
                          "WINOGRAD",      "WINOGRAD_NONFUSED"};
const char* kBackwardData[] = {"ALGO_0", "ALGO_1", "FFT", "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED"};
const char* kBackwardFilter[] = {"ALGO_0",    "ALGO_1", "FFT", "ALGO_3", "WINOGRAD", "WINOGRAD_NONFUSED",
                                 "FFT_TILING"};

template <class Performance, std::size_t N>
Algorithm first_fit(const std::vector<Performance>& list, const char* (&names)[N], Mode mode) {
  Algorithm chosen;
  for (const Performance& p : list) {
    const auto number = static_cast<std::size_t>(p.algo);
    const std::string name = number < N ? names[number] : "algorithm " + std::to_string(number);
    if (p.status != CUDNN_STATUS_SUCCESS) {
      if (chosen.why.empty()) chosen.why = name + ": " + describe(p.status);
      continue;
    }
    if (name.find("WINOGRAD") != std::string::npos || name.find("FFT") != std::string::npos) continue;
    if (mode == Mode::strict && p.determinism != CUDNN_DETERMINISTIC) continue;
    chosen.number = static_cast<int>(number);
    chosen.name = name;
    chosen.workspace = p.memory;
    chosen.math = p.mathType;
    chosen.deterministic = p.determinism == CUDNN_DETERMINISTIC;
    return chosen;
  }
  if (chosen.why.empty()) chosen.why = "the library offers only transforms or nondeterministic algorithms";
  return chosen;
}

Algorithm choose(const ConvGeometry& g, const Descriptors& d, Mode mode) {
  const CudnnApi& api = cudnn();
  int count = 0;
  constexpr int kMost = 16;
  switch (g.direction) {
    case Direction::forward: {
      std::vector<cudnnConvolutionFwdAlgoPerf_t> list(kMost);
      check(api.GetConvolutionForwardAlgorithm_v7(cudnn_handle(), d.x.get(), d.w.get(), d.conv.get(),
                                                  d.y.get(), kMost, &count, list.data()),
            "cudnnGetConvolutionForwardAlgorithm_v7");
      list.resize(static_cast<std::size_t>(count));
      return first_fit(list, kForward, mode);
    }
    case Direction::backward_data: {
      std::vector<cudnnConvolutionBwdDataAlgoPerf_t> list(kMost);
      check(api.GetConvolutionBackwardDataAlgorithm_v7(cudnn_handle(), d.w.get(), d.y.get(), d.conv.get(),
                                                       d.x.get(), kMost, &count, list.data()),
            "cudnnGetConvolutionBackwardDataAlgorithm_v7");
      list.resize(static_cast<std::size_t>(count));
      return first_fit(list, kBackwardData, mode);
    }
    case Direction::backward_filter:
      break;
  }
  std::vector<cudnnConvolutionBwdFilterAlgoPerf_t> list(kMost);
  check(api.GetConvolutionBackwardFilterAlgorithm_v7(cudnn_handle(), d.x.get(), d.y.get(), d.conv.get(),
                                                     d.w.get(), kMost, &count, list.data()),
        "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
  list.resize(static_cast<std::size_t>(count));
  return first_fit(list, kBackwardFilter, mode);
}

void run_once(const ConvGeometry& g, const Descriptors& d, const Algorithm& algorithm, const void* a,
              const void* b, void* out, cudaStream_t stream) {
  const CudnnApi& api = cudnn();
  check(api.SetStream(cudnn_handle(), stream), "cudnnSetStream");
  // The math type that the chosen entry was listed with belongs to it.
  check(api.SetConvolutionMathType(d.conv.get(), algorithm.math), "cudnnSetConvolutionMathType");
  const cuda::StreamScratch workspace(algorithm.workspace, stream);
  const float one = 1, zero = 0;
  switch (g.direction) {
    case Direction::forward:
      check(api.ConvolutionForward(cudnn_handle(), &one, d.x.get(), a, d.w.get(), b, d.conv.get(),
                                   static_cast<cudnnConvolutionFwdAlgo_t>(algorithm.number), workspace.data(),
                                   algorithm.workspace, &zero, d.y.get(), out),
            "cudnnConvolutionForward");
      return;
    case Direction::backward_data:
      check(api.ConvolutionBackwardData(cudnn_handle(), &one, d.w.get(), b, d.y.get(), a, d.conv.get(),
                                        static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm.number),
                                        workspace.data(), algorithm.workspace, &zero, d.x.get(), out),
            "cudnnConvolutionBackwardData");
      return;
    case Direction::backward_filter:
      check(api.ConvolutionBackwardFilter(cudnn_handle(), &one, d.x.get(), a, d.y.get(), b, d.conv.get(),
                                          static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm.number),
                                          workspace.data(), algorithm.workspace, &zero, d.w.get(), out),
            "cudnnConvolutionBackwardFilter");
      return;
  }
}

}  // namespace

std::string cudnn_legacy_unsupported(const Problem& problem, DType in, DType out, Mode mode) {
  if (!device_info().available) return device_info().reason;
  if (!cudnn_state().missing.empty()) return cudnn_state().missing;
  if (std::string why = mode_mismatch(in, out, mode); !why.empty()) return why;
  // Engines that down-convert fp32 data do not say to which 16-bit format.
  if (in == DType::f32 && (mode == Mode::bf16 || mode == Mode::fp16))
    return "cuDNN promises no 16-bit format for fp32 data: use modes fp32, tf32 or strict";
  if (in != out) return "the older cuDNN API writes the type it reads";
  try {
    const ConvGeometry g = geometry_of(problem);
    const std::int64_t images = images_per_call(g);
    if (images == 0 ||
        (g.direction == Direction::backward_filter && std::max(elements(g.x), elements(g.y)) > 0x7fffffff))
      return "one call would pass 2^31-1 elements, cuDNN's limit";
    const ConvGeometry piece = g.with_images(images);
    const Descriptors d(piece, in, mode);
    const Algorithm a = choose(piece, d, mode);
    return a.number >= 0 ? "" : "cuDNN " + cudnn_state().version + ": " + a.why;
  } catch (const Error& e) {
    return e.what();
  }
}

LaunchNotes run_cudnn_legacy(const LaunchArgs& args) {
  const ConvGeometry g = geometry_of(*args.problem);
  const std::int64_t step = images_per_call(g);
  if (step == 0) throw Error("one image has more than 2^31-1 elements, cuDNN's limit: choose a smaller case");
  LaunchNotes notes;
  const bool forward = g.direction == Direction::forward;
  const Shape &in_shape = forward ? g.x : g.y, &out_shape = forward ? g.y : g.x;
  for (std::int64_t from = 0; from < g.images(); from += step) {
    const ConvGeometry piece = g.with_images(std::min(step, g.images() - from));
    const Descriptors d(piece, args.in_dtype, args.mode);
    const Algorithm algorithm = choose(piece, d, args.mode);
    if (algorithm.number < 0) throw Error("cuDNN offers no algorithm: " + algorithm.why);
    const std::int64_t skip_in = from * (elements(in_shape) / in_shape[0]) * size_of(args.in_dtype);
    const std::int64_t skip_out = from * (elements(out_shape) / out_shape[0]) * size_of(args.out_dtype);
    run_once(piece, d, algorithm, static_cast<const char*>(args.a) + skip_in, args.b,
             static_cast<char*>(args.out) + skip_out, static_cast<cudaStream_t>(args.stream));
    notes.engine = algorithm.name;
    notes.workspace_bytes = static_cast<std::int64_t>(algorithm.workspace);
    notes.notes = {algorithm.math == CUDNN_FMA_MATH       ? "FMA_MATH"
                   : algorithm.math == CUDNN_DEFAULT_MATH ? "DEFAULT_MATH"
                                                          : "TENSOR_OP_MATH",
                   "cuDNN " + cudnn_state().version + " " + to_string(g.direction)};
    if (!algorithm.deterministic) notes.notes.push_back("NONDETERMINISTIC");
  }
  if (args.problem->params.bias) {
    cuda::add_contraction_bias(args);
    notes.notes.push_back("bias added by a kernel of its own");
  }
  return notes;
}

namespace {

Variant legacy_variant() {
  Variant v;
  v.name = "cudnn_legacy";
  v.summary = "cuDNN's older API: an algorithm per direction, math type DEFAULT or FMA";
  v.source = "kernels/vendor/cudnn_legacy.cudnn.cpp";
  v.where = Where::cuda;
  v.vendor = true;
  v.modes = {Mode::fp32, Mode::tf32, Mode::strict, Mode::bf16, Mode::fp16};
  v.plan = [](const Problem&, Mode) { return std::string(); };
  v.unsupported = cudnn_legacy_unsupported;
  v.launch = run_cudnn_legacy;
  return v;
}

const Register registered{
    legacy_variant(),
    {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
     "conv1d_backward_input", "conv2d_backward_input", "conv3d_backward_input", "conv1d_backward_weight",
     "conv2d_backward_weight", "conv3d_backward_weight"}};

}  // namespace
}  // namespace ulpscope::vendor
