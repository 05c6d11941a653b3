#pragma once
// cuBLAS and cublasLt as typed tables of functions, opened at run time. Names are the library's own.
#include <cublasLt.h>
#include <cublas_v2.h>

namespace ulpscope::vendor {

struct CublasApi {
  decltype(&::cublasCreate_v2) Create;
  decltype(&::cublasDestroy_v2) Destroy;
  decltype(&::cublasSetStream_v2) SetStream;
  decltype(&::cublasSetWorkspace_v2) SetWorkspace;
  decltype(&::cublasSetMathMode) SetMathMode;
  decltype(&::cublasSetSmCountTarget) SetSmCountTarget;
  decltype(&::cublasSetPointerMode_v2) SetPointerMode;
  decltype(&::cublasGetProperty) GetProperty;
  decltype(&::cublasGetStatusName) GetStatusName;
  // The header overloads the 32-bit form for C++, so the 64-bit one is what decltype can name; we need it
  // anyway.
  decltype(&::cublasGemmStridedBatchedEx_64) GemmStridedBatchedEx;
  decltype(&::cublasDotEx_64) DotEx;

  decltype(&::cublasLtCreate) LtCreate;
  decltype(&::cublasLtDestroy) LtDestroy;
  decltype(&::cublasLtGetVersion) LtGetVersion;
  decltype(&::cublasLtMatmul) LtMatmul;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) LtMatmulAlgoGetHeuristic;
  decltype(&::cublasLtMatmulAlgoConfigGetAttribute) LtMatmulAlgoConfigGetAttribute;
  decltype(&::cublasLtMatmulAlgoCapGetAttribute) LtMatmulAlgoCapGetAttribute;
  decltype(&::cublasLtMatmulDescCreate) LtMatmulDescCreate;
  decltype(&::cublasLtMatmulDescDestroy) LtMatmulDescDestroy;
  decltype(&::cublasLtMatmulDescSetAttribute) LtMatmulDescSetAttribute;
  decltype(&::cublasLtMatrixLayoutCreate) LtMatrixLayoutCreate;
  decltype(&::cublasLtMatrixLayoutDestroy) LtMatrixLayoutDestroy;
  decltype(&::cublasLtMatrixLayoutSetAttribute) LtMatrixLayoutSetAttribute;
  decltype(&::cublasLtMatmulPreferenceCreate) LtMatmulPreferenceCreate;
  decltype(&::cublasLtMatmulPreferenceDestroy) LtMatmulPreferenceDestroy;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) LtMatmulPreferenceSetAttribute;
};

/// Throws Error with cublas_state().missing where the library is not here.
const CublasApi& cublas();

/// Throws Error "<call> failed: CUBLAS_STATUS_...; <what to do>" unless the status is success.
void check(cublasStatus_t status, const char* call);
/// "CUBLAS_STATUS_NOT_SUPPORTED"
const char* status_name(cublasStatus_t status);

}  // namespace ulpscope::vendor
