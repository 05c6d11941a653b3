#pragma once
// The process's cuBLAS handles with a workspace of our own, and the words a mode has in cuBLAS.
#include "kernels/support/registry.hpp"
#include "kernels/vendor/cublas_api.hpp"

namespace ulpscope::vendor {

/// Handles and their workspace, made on first use and never destroyed (at exit the driver may be gone first).
/// The workspace is ours because its size decides which algorithms are taken: 32 MiB from Hopper on, else
/// 8 MiB, as frameworks choose.
struct CublasSession {
  cublasHandle_t handle = nullptr;
  cublasLtHandle_t lt = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

/// Bound to the stream (which resets the workspace, so it is set again), with the workspace and the
/// multiprocessors that `shape` leaves the library.
const CublasSession& cublas_session(cudaStream_t stream, const LaunchShape& shape = {});

/// Bytes of the workspace under `shape`.
std::size_t workspace_of(const CublasSession& session, const LaunchShape& shape);
/// "workspace 33554432, all multiprocessors": for LaunchNotes::shape.
std::string shape_text(const CublasSession& session, const LaunchShape& shape);

cudaDataType_t cublas_type(DType type);

/// The compute type of a mode for such operands (design: "Modes").
cublasComputeType_t compute_type(DType in, Mode mode);
const char* name_of(cublasComputeType_t type);

/// Reasons shared by all cuBLAS variants; "" if none applies.
std::string cublas_refusal(DType in, DType out, Mode mode);

}  // namespace ulpscope::vendor
