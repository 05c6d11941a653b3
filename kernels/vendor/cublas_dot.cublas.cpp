// cublas: dot by cublasDotEx, summed in fp32.
// Order: the library's; found by probing, not declared. Promise: fp32 products and sums (cuBLAS has no other
// mode for a dot product, so fp32 and strict are the same call).
#include "kernels/vendor/cublas_session.hpp"
#include "kernels/vendor/libraries.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

std::string unsupported(const Problem&, DType in, DType out, Mode mode) {
  if (in != out) return "cublasDotEx writes the type it reads";
  return cublas_refusal(in, out, mode);
}

LaunchNotes dot(const LaunchArgs& args) {
  const CublasSession& session = cublas_session(static_cast<cudaStream_t>(args.stream), args.shape);
  const cudaDataType_t type = cublas_type(args.in_dtype);
  // The result stays on the device: a host result would wait inside the call.
  check(cublas().SetPointerMode(session.handle, CUBLAS_POINTER_MODE_DEVICE), "cublasSetPointerMode");
  check(cublas().DotEx(session.handle, args.contraction->red.at(0).size, args.a, type, 1, args.b, type, 1,
                       args.out, type, CUDA_R_32F),
        "cublasDotEx");
  return {"cublasDotEx",
          {"cuBLAS " + cublas_state().version},
          static_cast<std::int64_t>(workspace_of(session, args.shape)),
          shape_text(session, args.shape)};
}

const Register registered{{
    .name = "cublas",
    .op = "dot",
    .summary = "cuBLAS dot product",
    .source = "kernels/vendor/cublas_dot.cublas.cpp",
    .where = Where::cuda,
    .vendor = true,
    .modes = {Mode::fp32, Mode::strict, Mode::bf16, Mode::fp16},
    .plan = [](const Problem&, Mode) { return std::string(); },
    .unsupported = unsupported,
    .launch = dot,
}};

}  // namespace
}  // namespace ulpscope::vendor
