#include "kernels/vendor/cudnn_api.hpp"

#include "kernels/vendor/libraries.hpp"
#include "kernels/vendor/shared_library.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

struct Loaded {
  LibraryState state;
  CudnnApi api{};
};

void fill(CudnnApi& a, const SharedLibrary& l) {
  l.load(a.GetVersion, "cudnnGetVersion");
  l.load(a.GetErrorString, "cudnnGetErrorString");
  l.load(a.GetLastErrorString, "cudnnGetLastErrorString");
  l.load(a.Create, "cudnnCreate");
  l.load(a.Destroy, "cudnnDestroy");
  l.load(a.SetStream, "cudnnSetStream");
  l.load(a.BackendCreateDescriptor, "cudnnBackendCreateDescriptor");
  l.load(a.BackendDestroyDescriptor, "cudnnBackendDestroyDescriptor");
  l.load(a.BackendFinalize, "cudnnBackendFinalize");
  l.load(a.BackendSetAttribute, "cudnnBackendSetAttribute");
  l.load(a.BackendGetAttribute, "cudnnBackendGetAttribute");
  l.load(a.BackendExecute, "cudnnBackendExecute");
  l.load(a.CreateTensorDescriptor, "cudnnCreateTensorDescriptor");
  l.load(a.DestroyTensorDescriptor, "cudnnDestroyTensorDescriptor");
  l.load(a.SetTensorNdDescriptor, "cudnnSetTensorNdDescriptor");
  l.load(a.CreateFilterDescriptor, "cudnnCreateFilterDescriptor");
  l.load(a.DestroyFilterDescriptor, "cudnnDestroyFilterDescriptor");
  l.load(a.SetFilterNdDescriptor, "cudnnSetFilterNdDescriptor");
  l.load(a.CreateConvolutionDescriptor, "cudnnCreateConvolutionDescriptor");
  l.load(a.DestroyConvolutionDescriptor, "cudnnDestroyConvolutionDescriptor");
  l.load(a.SetConvolutionNdDescriptor, "cudnnSetConvolutionNdDescriptor");
  l.load(a.SetConvolutionGroupCount, "cudnnSetConvolutionGroupCount");
  l.load(a.SetConvolutionMathType, "cudnnSetConvolutionMathType");
  l.load(a.GetConvolutionForwardAlgorithm_v7, "cudnnGetConvolutionForwardAlgorithm_v7");
  l.load(a.ConvolutionForward, "cudnnConvolutionForward");
  l.load(a.GetConvolutionBackwardDataAlgorithm_v7, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
  l.load(a.ConvolutionBackwardData, "cudnnConvolutionBackwardData");
  l.load(a.GetConvolutionBackwardFilterAlgorithm_v7, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
  l.load(a.ConvolutionBackwardFilter, "cudnnConvolutionBackwardFilter");
}

const Loaded& loaded() {
  static const Loaded l = [] {
    Loaded r;
    const SharedLibrary library("cuDNN", {"libcudnn.so." + std::to_string(CUDNN_MAJOR)}, "ULPSCOPE_LIBCUDNN");
    r.state.missing = library.missing();
    if (!library.loaded()) return r;
    try {
      fill(r.api, library);
      r.state.path = library.path_of(reinterpret_cast<const void*>(r.api.GetVersion));
      const std::size_t v = r.api.GetVersion();  // 91900 = 9.19.0
      r.state.version =
          std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
    } catch (const Error& e) {
      r.state.missing = e.what();
    }
    return r;
  }();
  return l;
}

}  // namespace

const LibraryState& cudnn_state() {
  return loaded().state;
}

const CudnnApi& cudnn() {
  if (!loaded().state.missing.empty()) throw Error(loaded().state.missing);
  return loaded().api;
}

std::string describe(cudnnStatus_t status) {
  std::string text = cudnn().GetErrorString(status);
  char detail[512] = {};
  cudnn().GetLastErrorString(detail, sizeof detail);
  std::string last = detail;
  for (char& ch : last)
    if (ch == '\n' || ch == '\r') ch = ' ';
  if (!last.empty() && last != text) text += ": " + last;
  return text;
}

void check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const int category = static_cast<int>(status) / 1000;  // cuDNN 9: 2xxx bad parameter, 3xxx not supported
  const char* advice = category == 3   ? "this library offers no engine for the combination"
                       : category == 2 ? "the shapes or types do not fit this call"
                       : category == 4 ? "check free device memory and that driver and library match"
                                       : "see the cuDNN documentation for this status";
  throw Error(std::string(call) + " failed: " + describe(status) + "; " + advice);
}

}  // namespace ulpscope::vendor
