#pragma once
// Vendor calls for any shape, for those who sweep or probe: the registered variants are thin wrappers.
// Everything throws Error on failure; where a library, CUDA or a device is missing, `*_unsupported` says so.
#include <string>
#include <vector>

#include "kernels/support/registry.hpp"
#include "kernels/vendor/engine_choice.hpp"

namespace ulpscope::vendor {

/// cuDNN by its backend API. engine >= 0 pins an engine by number, whatever its notes.
struct CudnnOptions {
  EngineFamily family = EngineFamily::direct;
  std::int64_t engine = -1;
};
std::string cudnn_unsupported(const Problem& problem, DType in, DType out, Mode mode,
                              const CudnnOptions& options = {}, Layout layout = Layout::channels_first);
LaunchNotes run_cudnn(const LaunchArgs& args, const CudnnOptions& options = {});

/// One line per engine that cuDNN has for a convolution: number, notes, workspace, or why it cannot be used;
/// and whether it is seen to transform its operands, whatever the notes say.
std::vector<std::string> describe_cudnn_engines(const Problem& problem, DType in, DType out);

/// cuDNN by the older API, one call per direction and a math type.
std::string cudnn_legacy_unsupported(const Problem& problem, DType in, DType out, Mode mode);
LaunchNotes run_cudnn_legacy(const LaunchArgs& args);

/// gemm, linear, and convolutions of kernel extent 1 by cublasGemmStridedBatchedEx.
std::string cublas_unsupported(const Problem& problem, DType in, DType out, Mode mode);
LaunchNotes run_cublas(const LaunchArgs& args);

/// gemm and linear by cublasLt with the algorithm pinned: the heuristics' first, or the first that does not
/// split K.
struct CublasLtOptions {
  bool no_split = false;
};
std::string cublaslt_unsupported(const Problem& problem, DType in, DType out, Mode mode,
                                 const CublasLtOptions& options = {});
LaunchNotes run_cublaslt(const LaunchArgs& args, const CublasLtOptions& options = {});

}  // namespace ulpscope::vendor
