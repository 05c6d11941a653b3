#pragma once
// cuDNN as a typed table of functions, opened at run time: the backend (graph) API, and the older one call
// per operation. Names are the library's own.
#include <cudnn.h>

#include <string>

namespace ulpscope::vendor {

struct CudnnApi {
  decltype(&::cudnnGetVersion) GetVersion;
  decltype(&::cudnnGetErrorString) GetErrorString;
  decltype(&::cudnnGetLastErrorString) GetLastErrorString;
  decltype(&::cudnnCreate) Create;
  decltype(&::cudnnDestroy) Destroy;
  decltype(&::cudnnSetStream) SetStream;

  decltype(&::cudnnBackendCreateDescriptor) BackendCreateDescriptor;
  decltype(&::cudnnBackendDestroyDescriptor) BackendDestroyDescriptor;
  decltype(&::cudnnBackendFinalize) BackendFinalize;
  decltype(&::cudnnBackendSetAttribute) BackendSetAttribute;
  decltype(&::cudnnBackendGetAttribute) BackendGetAttribute;
  decltype(&::cudnnBackendExecute) BackendExecute;

  decltype(&::cudnnCreateTensorDescriptor) CreateTensorDescriptor;
  decltype(&::cudnnDestroyTensorDescriptor) DestroyTensorDescriptor;
  decltype(&::cudnnSetTensorNdDescriptor) SetTensorNdDescriptor;
  decltype(&::cudnnCreateFilterDescriptor) CreateFilterDescriptor;
  decltype(&::cudnnDestroyFilterDescriptor) DestroyFilterDescriptor;
  decltype(&::cudnnSetFilterNdDescriptor) SetFilterNdDescriptor;
  decltype(&::cudnnCreateConvolutionDescriptor) CreateConvolutionDescriptor;
  decltype(&::cudnnDestroyConvolutionDescriptor) DestroyConvolutionDescriptor;
  decltype(&::cudnnSetConvolutionNdDescriptor) SetConvolutionNdDescriptor;
  decltype(&::cudnnSetConvolutionGroupCount) SetConvolutionGroupCount;
  decltype(&::cudnnSetConvolutionMathType) SetConvolutionMathType;
  decltype(&::cudnnGetConvolutionForwardAlgorithm_v7) GetConvolutionForwardAlgorithm_v7;
  decltype(&::cudnnConvolutionForward) ConvolutionForward;
  decltype(&::cudnnGetConvolutionBackwardDataAlgorithm_v7) GetConvolutionBackwardDataAlgorithm_v7;
  decltype(&::cudnnConvolutionBackwardData) ConvolutionBackwardData;
  decltype(&::cudnnGetConvolutionBackwardFilterAlgorithm_v7) GetConvolutionBackwardFilterAlgorithm_v7;
  decltype(&::cudnnConvolutionBackwardFilter) ConvolutionBackwardFilter;
};

/// Throws Error with cudnn_state().missing where the library is not here.
const CudnnApi& cudnn();

/// "CUDNN_STATUS_NOT_SUPPORTED: <what the library says about its last error>", on one line.
std::string describe(cudnnStatus_t status);

/// Throws Error "<call> failed: CUDNN_STATUS_...; <what to do>" unless the status is success.
void check(cudnnStatus_t status, const char* call);

}  // namespace ulpscope::vendor
