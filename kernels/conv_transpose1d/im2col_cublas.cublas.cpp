// im2col with cuBLAS: the input is gathered into a matrix with a row per channel and tap, and cuBLAS
// multiplies it by the filter. Order: the library's over rows in the order (c, k); found by probing, not
// declared. Promise: the compute type of the mode. Missing taps are zeros in the matrix and so become
// products: beside an infinite weight they give NaN where the operator has no term. Cost: the matrix is
// `taps` times the input; images go through in runs of at most 2 GiB of it.
#include <algorithm>

#include "kernels/support/bias.hpp"
#include "kernels/support/device.hpp"
#include "kernels/vendor/cublas_session.hpp"
#include "kernels/vendor/im2col_kernels.hpp"
#include "kernels/vendor/libraries.hpp"

namespace ulpscope::vendor {

namespace {

constexpr std::int64_t kMostColumnBytes = std::int64_t{2} << 30;

std::string unsupported(const Problem& problem, DType in, DType out, Mode mode) {
  if (std::string why = cublas_refusal(in, out, mode); !why.empty()) return why;
  const Im2col m = im2col_of(problem);
  if (m.column_elements() * size_of(in) > 8 * kMostColumnBytes)
    return "the column matrix of one image passes " + std::to_string(8 * kMostColumnBytes) + " bytes";
  return "";
}

LaunchNotes im2col_cublas(const LaunchArgs& args) {
  auto stream = static_cast<cudaStream_t>(args.stream);
  const Im2col m = im2col_of(*args.problem);
  const std::int64_t element = size_of(args.in_dtype);
  const std::int64_t run =
      std::clamp<std::int64_t>(kMostColumnBytes / (m.column_elements() * element), 1, m.images);
  const cuda::StreamScratch columns(static_cast<std::size_t>(run * m.column_elements() * element), stream);
  const cuda::StreamScratch filter(static_cast<std::size_t>(m.rows * m.depth() * element), stream);
  const CublasSession& session = cublas_session(stream, args.shape);
  const cublasComputeType_t compute = compute_type(args.in_dtype, args.mode);
  const cudaDataType_t in = cublas_type(args.in_dtype), out = cublas_type(args.out_dtype);
  const float one = 1, zero = 0;
  for (std::int64_t g = 0; g < m.groups; ++g) {
    permute_filter(m, args.in_dtype, args.b, g, filter.data(), stream);
    for (std::int64_t n = 0; n < m.images; n += run) {
      const std::int64_t images = std::min(run, m.images - n);
      gather_columns(m, args.in_dtype, args.a, n, images, g, columns.data(), stream);
      const std::int64_t first_output = (n * m.groups + g) * m.rows * m.positions;
      // cuBLAS is column-major: the row-major product is computed as its transpose.
      check(cublas().GemmStridedBatchedEx(
                session.handle, CUBLAS_OP_N, CUBLAS_OP_N, m.positions, m.rows, m.depth(), &one,
                columns.data(), in, m.positions, m.column_elements(), filter.data(), in, m.depth(), 0, &zero,
                static_cast<char*>(args.out) + first_output * size_of(args.out_dtype), out, m.positions,
                m.groups * m.rows * m.positions, images, compute, CUBLAS_GEMM_DEFAULT),
            "cublasGemmStridedBatchedEx");
    }
  }
  LaunchNotes notes{name_of(compute), {"cuBLAS " + cublas_state().version}, 0};
  notes.workspace_bytes =
      run * m.column_elements() * element + static_cast<std::int64_t>(workspace_of(session, args.shape));
  notes.shape = shape_text(session, args.shape);
  if (args.problem->params.bias) {
    cuda::add_contraction_bias(args);
    notes.notes.push_back("bias added by a kernel of its own");
  }
  return notes;
}

const Register registered{{
    .name = "im2col_cublas",
    .op = "conv_transpose1d",
    .summary = "input gathered into a matrix, multiplied by cuBLAS",
    .source = "kernels/conv_transpose1d/im2col_cublas.cublas.cpp",
    .where = Where::cuda,
    .vendor = true,
    .modes = {Mode::fp32, Mode::tf32, Mode::strict, Mode::bf16, Mode::fp16},
    .plan = [](const Problem&, Mode) { return std::string(); },
    .unsupported = unsupported,
    .launch = im2col_cublas,
}};

}  // namespace
}  // namespace ulpscope::vendor
