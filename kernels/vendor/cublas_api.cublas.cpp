#include "kernels/vendor/cublas_api.hpp"

#include <string>

#include "kernels/vendor/libraries.hpp"
#include "kernels/vendor/shared_library.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

struct Loaded {
  LibraryState state;
  CublasApi api{};
};

void fill(CublasApi& a, const SharedLibrary& blas, const SharedLibrary& lt) {
  blas.load(a.Create, "cublasCreate_v2");
  blas.load(a.Destroy, "cublasDestroy_v2");
  blas.load(a.SetStream, "cublasSetStream_v2");
  blas.load(a.SetWorkspace, "cublasSetWorkspace_v2");
  blas.load(a.SetMathMode, "cublasSetMathMode");
  blas.load(a.SetSmCountTarget, "cublasSetSmCountTarget");
  blas.load(a.SetPointerMode, "cublasSetPointerMode_v2");
  blas.load(a.GetProperty, "cublasGetProperty");
  blas.load(a.GetStatusName, "cublasGetStatusName");
  blas.load(a.GemmStridedBatchedEx, "cublasGemmStridedBatchedEx_64");
  blas.load(a.DotEx, "cublasDotEx_64");
  lt.load(a.LtCreate, "cublasLtCreate");
  lt.load(a.LtDestroy, "cublasLtDestroy");
  lt.load(a.LtGetVersion, "cublasLtGetVersion");
  lt.load(a.LtMatmul, "cublasLtMatmul");
  lt.load(a.LtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic");
  lt.load(a.LtMatmulAlgoConfigGetAttribute, "cublasLtMatmulAlgoConfigGetAttribute");
  lt.load(a.LtMatmulAlgoCapGetAttribute, "cublasLtMatmulAlgoCapGetAttribute");
  lt.load(a.LtMatmulDescCreate, "cublasLtMatmulDescCreate");
  lt.load(a.LtMatmulDescDestroy, "cublasLtMatmulDescDestroy");
  lt.load(a.LtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute");
  lt.load(a.LtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate");
  lt.load(a.LtMatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy");
  lt.load(a.LtMatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute");
  lt.load(a.LtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
  lt.load(a.LtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  lt.load(a.LtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute");
}

const Loaded& loaded() {
  static const Loaded l = [] {
    Loaded r;
    const std::string major = std::to_string(CUBLAS_VER_MAJOR);
    const SharedLibrary lt("cublasLt", {"libcublasLt.so." + major}, "ULPSCOPE_LIBCUBLASLT");
    const SharedLibrary blas("cuBLAS", {"libcublas.so." + major}, "ULPSCOPE_LIBCUBLAS");
    for (const SharedLibrary* library : {&blas, &lt})
      if (!library->loaded() && r.state.missing.empty()) r.state.missing = library->missing();
    if (!r.state.missing.empty()) return r;
    try {
      fill(r.api, blas, lt);
      r.state.path = blas.path_of(reinterpret_cast<const void*>(r.api.Create));
      int v[3] = {};
      r.api.GetProperty(MAJOR_VERSION, &v[0]);
      r.api.GetProperty(MINOR_VERSION, &v[1]);
      r.api.GetProperty(PATCH_LEVEL, &v[2]);
      r.state.version = std::to_string(v[0]) + "." + std::to_string(v[1]) + "." + std::to_string(v[2]);
    } catch (const Error& e) {
      r.state.missing = e.what();
    }
    return r;
  }();
  return l;
}

}  // namespace

const LibraryState& cublas_state() {
  return loaded().state;
}

const CublasApi& cublas() {
  if (!loaded().state.missing.empty()) throw Error(loaded().state.missing);
  return loaded().api;
}

const char* status_name(cublasStatus_t status) {
  return cublas().GetStatusName(status);
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const char* advice =
      status == CUBLAS_STATUS_ALLOC_FAILED      ? "free device memory or choose a smaller case"
      : status == CUBLAS_STATUS_NOT_INITIALIZED ? "check that the driver and this cuBLAS match"
      : status == CUBLAS_STATUS_NOT_SUPPORTED   ? "this library offers no kernel for the combination"
                                                : "see the cuBLAS documentation for this status";
  throw Error(std::string(call) + " failed: " + status_name(status) + "; " + advice);
}

}  // namespace ulpscope::vendor
