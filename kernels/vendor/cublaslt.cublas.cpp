// cublaslt, cublaslt_no_split: gemm and linear by cublasLt with the algorithm pinned, so that the same one
// runs every time: the heuristics' first, or the first that does not split K. Order: the library's; found by
// probing, not declared. Promise: the compute type of the mode.
#include <map>
#include <memory>

#include "kernels/support/bias.hpp"
#include "kernels/support/device.hpp"
#include "kernels/vendor/cublas_session.hpp"
#include "kernels/vendor/libraries.hpp"
#include "kernels/vendor/matrix_product.hpp"
#include "kernels/vendor/vendor.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

// Owner of a cublasLt object with its create/destroy pair.
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

Owned<cublasLtMatrixLayout_t> layout(DType type, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                                     std::int64_t batch, std::int64_t stride) {
  cublasLtMatrixLayout_t raw = nullptr;
  check(cublas().LtMatrixLayoutCreate(&raw, cublas_type(type), static_cast<std::uint64_t>(rows),
                                      static_cast<std::uint64_t>(columns), ld),
        "cublasLtMatrixLayoutCreate");
  Owned<cublasLtMatrixLayout_t> owner(raw, cublas().LtMatrixLayoutDestroy);
  const auto count = static_cast<std::int32_t>(batch);
  check(cublas().LtMatrixLayoutSetAttribute(raw, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
        "setting a batch count");
  check(cublas().LtMatrixLayoutSetAttribute(raw, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                            sizeof stride),
        "setting a batch stride");
  return owner;
}

struct Pinned {
  Owned<cublasLtMatmulDesc_t> operation{nullptr, nullptr};
  Owned<cublasLtMatrixLayout_t> right{nullptr, nullptr}, left{nullptr, nullptr}, out{nullptr, nullptr};
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
  std::string description, why;  // why: no algorithm
};

std::uint32_t config(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t name) {
  // Attributes are 2 or 4 bytes wide; a zeroed little-endian word takes both.
  std::uint32_t value = 0;
  std::size_t written = 0;
  for (const std::size_t width : {sizeof(std::uint32_t), sizeof(std::uint16_t)})
    if (cublas().LtMatmulAlgoConfigGetAttribute(&algorithm, name, &value, width, &written) ==
        CUBLAS_STATUS_SUCCESS)
      break;
  return value;
}

std::string describe(const cublasLtMatmulAlgo_t& algorithm) {
  auto field = [&](const char* name, cublasLtMatmulAlgoConfigAttributes_t attribute) {
    return std::string(" ") + name + " " + std::to_string(config(algorithm, attribute));
  };
  std::string text = "algorithm " + std::to_string(config(algorithm, CUBLASLT_ALGO_CONFIG_ID));
  text += field("tile", CUBLASLT_ALGO_CONFIG_TILE_ID) + field("stages", CUBLASLT_ALGO_CONFIG_STAGES_ID) +
          field("splitk", CUBLASLT_ALGO_CONFIG_SPLITK_NUM) +
          field("reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) +
          field("swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING) +
          field("custom", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION) +
          field("inner", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID) +
          field("cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  return text;
}

std::vector<std::string> numerical_notes(const cublasLtMatmulAlgo_t& algorithm) {
  std::uint64_t flags = 0;
  std::size_t written = 0;
  std::vector<std::string> notes;
  if (cublas().LtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags,
                                           sizeof flags, &written) != CUBLAS_STATUS_SUCCESS)
    return notes;
  if (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA) notes.push_back("FMA");
  if (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) notes.push_back("TENSOR_CORE");
  if (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32) notes.push_back("INPUT_TF32");
  if (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F) notes.push_back("ACCUMULATOR_16F");
  return notes;
}

void choose(Pinned& p, const CublasSession& session, std::uint64_t limit, const CublasLtOptions& options) {
  cublasLtMatmulPreference_t raw = nullptr;
  check(cublas().LtMatmulPreferenceCreate(&raw), "cublasLtMatmulPreferenceCreate");
  const Owned<cublasLtMatmulPreference_t> preference(raw, cublas().LtMatmulPreferenceDestroy);
  check(cublas().LtMatmulPreferenceSetAttribute(raw, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit,
                                                sizeof limit),
        "setting the workspace limit");
  cublasLtMatmulHeuristicResult_t results[64] = {};
  int count = 0;
  const cublasStatus_t status =
      cublas().LtMatmulAlgoGetHeuristic(session.lt, p.operation.get(), p.right.get(), p.left.get(),
                                        p.out.get(), p.out.get(), raw, 64, results, &count);
  if (status != CUBLAS_STATUS_SUCCESS) {
    p.why = status_name(status);
    return;
  }
  for (int i = 0; i < count; ++i) {
    if (results[i].state != CUBLAS_STATUS_SUCCESS) continue;
    if (options.no_split && config(results[i].algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM) > 1) continue;
    p.algorithm = results[i].algo;
    p.workspace_bytes = results[i].workspaceSize;
    p.description = describe(p.algorithm);
    return;
  }
  p.why = count == 0 ? "the heuristics offer nothing" : "every algorithm that the heuristics offer splits K";
}

const Pinned& pinned_for(const Problem& problem, DType in, DType out, Mode mode,
                         const CublasLtOptions& options, const CublasSession& session,
                         const LaunchShape& shape = {}) {
  const auto limit = static_cast<std::uint64_t>(workspace_of(session, shape));
  static std::map<std::string, Pinned> remembered;
  const std::string key = to_string(problem) + " " + ulpscope::name_of(in) + " " + ulpscope::name_of(out) +
                          " " + to_string(mode) + (options.no_split ? " no split" : "") + " " +
                          std::to_string(limit) + " " + std::to_string(shape.multiprocessors);
  const auto found = remembered.find(key);
  if (found != remembered.end()) return found->second;
  if (remembered.size() >= 256) remembered.clear();
  const MatrixProduct g = matrix_products_of(problem).front();
  Pinned p;
  cublasLtMatmulDesc_t raw = nullptr;
  check(cublas().LtMatmulDescCreate(&raw, compute_type(in, mode), CUDA_R_32F), "cublasLtMatmulDescCreate");
  p.operation = Owned<cublasLtMatmulDesc_t>(raw, cublas().LtMatmulDescDestroy);
  const cublasOperation_t right = g.transpose_right ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t left = g.transpose_left ? CUBLAS_OP_T : CUBLAS_OP_N;
  check(cublas().LtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSA, &right, sizeof right),
        "setting a transposition");
  check(cublas().LtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSB, &left, sizeof left),
        "setting a transposition");
  const std::int32_t multiprocessors = shape.multiprocessors;
  if (multiprocessors > 0)
    check(cublas().LtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &multiprocessors,
                                            sizeof multiprocessors),
          "setting the number of multiprocessors");
  // Row-major k x n is column-major n x k.
  p.right = layout(in, g.transpose_right ? g.k : g.n, g.transpose_right ? g.n : g.k, g.ld_right(), g.batch,
                   g.stride_right);
  p.left = layout(in, g.transpose_left ? g.m : g.k, g.transpose_left ? g.k : g.m, g.ld_left(), g.batch,
                  g.stride_left);
  p.out = layout(out, g.n, g.m, g.n, g.batch, g.stride_out);
  choose(p, session, limit, options);
  return remembered.emplace(key, std::move(p)).first->second;
}

}  // namespace

std::string cublaslt_unsupported(const Problem& problem, DType in, DType out, Mode mode,
                                 const CublasLtOptions& options) {
  if (std::string why = cublas_unsupported(problem, in, out, mode); !why.empty()) return why;
  try {
    if (matrix_products_of(problem).front().batch > 0x7fffffff) return "cublasLt counts a batch with 32 bits";
    const Pinned& p = pinned_for(problem, in, out, mode, options, cublas_session(nullptr));
    return p.why.empty() ? "" : "cublasLt: " + p.why;
  } catch (const Error& e) {
    return e.what();
  }
}

LaunchNotes run_cublaslt(const LaunchArgs& args, const CublasLtOptions& options) {
  auto stream = static_cast<cudaStream_t>(args.stream);
  const CublasSession& session = cublas_session(stream, args.shape);
  const Pinned& p =
      pinned_for(*args.problem, args.in_dtype, args.out_dtype, args.mode, options, session, args.shape);
  if (!p.why.empty()) throw Error("cublasLt offers no algorithm: " + p.why);
  const float one = 1, zero = 0;
  check(cublas().LtMatmul(session.lt, p.operation.get(), &one, args.b, p.right.get(), args.a, p.left.get(),
                          &zero, args.out, p.out.get(), args.out, p.out.get(), &p.algorithm,
                          session.workspace, workspace_of(session, args.shape), stream),
        "cublasLtMatmul");
  LaunchNotes notes;
  notes.engine = p.description;
  notes.notes = numerical_notes(p.algorithm);
  notes.notes.push_back("cuBLAS " + cublas_state().version);
  notes.workspace_bytes = static_cast<std::int64_t>(p.workspace_bytes);
  notes.shape = shape_text(session, args.shape);
  if (args.problem->params.bias) {
    cuda::add_contraction_bias(args);
    notes.notes.push_back("bias added by a kernel of its own");
  }
  return notes;
}

namespace {

Variant lt_variant(const char* name, const char* summary, bool no_split) {
  Variant v;
  v.name = name;
  v.summary = summary;
  v.source = "kernels/vendor/cublaslt.cublas.cpp";
  v.where = Where::cuda;
  v.vendor = true;
  v.modes = {Mode::fp32, Mode::tf32, Mode::strict, Mode::bf16, Mode::fp16};
  v.plan = [](const Problem&, Mode) { return std::string(); };
  v.unsupported = [no_split](const Problem& p, DType in, DType out, Mode mode) {
    return cublaslt_unsupported(p, in, out, mode, {no_split});
  };
  v.launch = [no_split](const LaunchArgs& args) { return run_cublaslt(args, {no_split}); };
  return v;
}

const Register first{lt_variant("cublaslt", "cublasLt, the heuristics' first algorithm, pinned", false),
                     {"gemm", "linear"}};
const Register no_split{
    lt_variant("cublaslt_no_split", "cublasLt, the first algorithm that does not split K, pinned", true),
    {"gemm", "linear"}};

}  // namespace
}  // namespace ulpscope::vendor
