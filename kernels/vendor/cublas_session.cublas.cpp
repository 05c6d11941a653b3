#include "kernels/vendor/cublas_session.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/support/device.hpp"
#include "kernels/support/device_info.hpp"
#include "kernels/vendor/engine_choice.hpp"
#include "kernels/vendor/libraries.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {

std::size_t workspace_of(const CublasSession& session, const LaunchShape& shape) {
  return shape.workspace_bytes < 0
             ? session.workspace_bytes
             : std::min(session.workspace_bytes, static_cast<std::size_t>(shape.workspace_bytes));
}

std::string shape_text(const CublasSession& session, const LaunchShape& shape) {
  return "workspace " + std::to_string(workspace_of(session, shape)) + ", " +
         (shape.multiprocessors > 0 ? std::to_string(shape.multiprocessors) : std::string("all")) +
         " multiprocessors";
}

const CublasSession& cublas_session(cudaStream_t stream, const LaunchShape& shape) {
  static const CublasSession session = [] {
    CublasSession s;
    check(cublas().Create(&s.handle), "cublasCreate");
    check(cublas().LtCreate(&s.lt), "cublasLtCreate");
    s.workspace_bytes = std::size_t{device_info().cc_major >= 9 ? 32u : 8u} << 20;
    cuda::check(cudaMalloc(&s.workspace, s.workspace_bytes), "cudaMalloc of the cuBLAS workspace");
    return s;
  }();
  check(cublas().SetStream(session.handle, stream), "cublasSetStream");
  check(cublas().SetWorkspace(session.handle, session.workspace, workspace_of(session, shape)),
        "cublasSetWorkspace");
  check(cublas().SetSmCountTarget(session.handle, shape.multiprocessors), "cublasSetSmCountTarget");
  check(cublas().SetPointerMode(session.handle, CUBLAS_POINTER_MODE_HOST), "cublasSetPointerMode");
  return session;
}

cudaDataType_t cublas_type(DType type) {
  switch (type) {
    case DType::f32:
      return CUDA_R_32F;
    case DType::f16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f64:
      return CUDA_R_64F;
  }
  throw Error("cuBLAS has no such data type");
}

cublasComputeType_t compute_type(DType in, Mode mode) {
  if (in != DType::f32) return CUBLAS_COMPUTE_32F;
  switch (mode) {
    case Mode::fp32:
      return CUBLAS_COMPUTE_32F;
    case Mode::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Mode::strict:
      return CUBLAS_COMPUTE_32F_PEDANTIC;
    case Mode::bf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    case Mode::fp16:
      return CUBLAS_COMPUTE_32F_FAST_16F;
  }
  throw Error("cuBLAS has no such mode");
}

const char* name_of(cublasComputeType_t type) {
  switch (type) {
    case CUBLAS_COMPUTE_32F:
      return "COMPUTE_32F";
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return "COMPUTE_32F_FAST_TF32";
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return "COMPUTE_32F_PEDANTIC";
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return "COMPUTE_32F_FAST_16BF";
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return "COMPUTE_32F_FAST_16F";
    default:
      return "another compute type";
  }
}

std::string cublas_refusal(DType in, DType out, Mode mode) {
  if (!device_info().available) return device_info().reason;
  if (!cublas_state().missing.empty()) return cublas_state().missing;
  return mode_mismatch(in, out, mode);
}

}  // namespace ulpscope::vendor
