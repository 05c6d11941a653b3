// cublas: gemm, linear and convolutions of kernel extent 1 by cublasGemmStridedBatchedEx.
// Order: the library's; found by probing, not declared. Promise: the compute type of the mode. cuBLAS is
// column-major: a row-major product is computed as its transpose, out^T = right^T * left^T.
#include "kernels/support/bias.hpp"
#include "kernels/support/device.hpp"
#include "kernels/vendor/cublas_session.hpp"
#include "kernels/vendor/libraries.hpp"
#include "kernels/vendor/matrix_product.hpp"
#include "kernels/vendor/vendor.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

const void* at(const void* base, std::int64_t element, DType type) {
  return static_cast<const char*>(base) + element * size_of(type);
}

}  // namespace

std::string cublas_unsupported(const Problem& problem, DType in, DType out, Mode mode) {
  if (std::string why = cublas_refusal(in, out, mode); !why.empty()) return why;
  try {
    matrix_products_of(problem);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

LaunchNotes run_cublas(const LaunchArgs& args) {
  auto stream = static_cast<cudaStream_t>(args.stream);
  const CublasSession& session = cublas_session(stream, args.shape);
  const cublasComputeType_t compute = compute_type(args.in_dtype, args.mode);
  const cudaDataType_t in = cublas_type(args.in_dtype), out = cublas_type(args.out_dtype);
  const float one = 1, zero = 0;
  for (const MatrixProduct& g : matrix_products_of(*args.problem)) {
    const void* left = at(g.left_is_a ? args.a : args.b, g.offset_left, args.in_dtype);
    const void* right = at(g.left_is_a ? args.b : args.a, g.offset_right, args.in_dtype);
    void* result = const_cast<void*>(at(args.out, g.offset_out, args.out_dtype));
    check(cublas().GemmStridedBatchedEx(session.handle, g.transpose_right ? CUBLAS_OP_T : CUBLAS_OP_N,
                                        g.transpose_left ? CUBLAS_OP_T : CUBLAS_OP_N, g.n, g.m, g.k, &one,
                                        right, in, g.ld_right(), g.stride_right, left, in, g.ld_left(),
                                        g.stride_left, &zero, result, out, g.n, g.stride_out, g.batch,
                                        compute, CUBLAS_GEMM_DEFAULT),
          "cublasGemmStridedBatchedEx");
  }
  LaunchNotes notes;
  notes.engine = name_of(compute);
  notes.notes.push_back("cuBLAS " + cublas_state().version);
  notes.workspace_bytes = static_cast<std::int64_t>(workspace_of(session, args.shape));
  notes.shape = shape_text(session, args.shape);
  if (args.problem->params.bias) {
    cuda::add_contraction_bias(args);
    notes.notes.push_back("bias added by a kernel of its own");
  }
  return notes;
}

namespace {

Variant cublas_variant() {
  Variant v;
  v.name = "cublas";
  v.summary = "cuBLAS, the algorithm it chooses for the mode's compute type";
  v.source = "kernels/vendor/cublas.cublas.cpp";
  v.where = Where::cuda;
  v.vendor = true;
  v.modes = {Mode::fp32, Mode::tf32, Mode::strict, Mode::bf16, Mode::fp16};
  v.plan = [](const Problem&, Mode) { return std::string(); };
  v.unsupported = cublas_unsupported;
  v.launch = run_cublas;
  return v;
}

const Register registered{cublas_variant(),
                          {"gemm", "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
                           "conv_transpose2d", "conv1d_backward_input", "conv2d_backward_input"}};

}  // namespace
}  // namespace ulpscope::vendor
