#pragma once
// Variants: what is judged. One file per variant holds kernel, launcher, declared plan and registration; the
// registry sorts by name, rejects duplicates and touches no CUDA before main.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contraction.hpp"
#include "reference/exact.hpp"
#include "reference/layout.hpp"
#include "reference/operators.hpp"

namespace ulpscope {

/// What a variant promises about its arithmetic (design: "Modes"). bf16/fp16: operands are, or may be rounded
/// to, that.
enum class Mode : std::uint8_t { fp32, tf32, strict, bf16, fp16 };
const char* to_string(Mode mode);
Mode parse_mode(std::string_view name);  // throws Error naming the choices

enum class Where : std::uint8_t { host, cuda };

/// How a launch may be cut up and provided for without promising another result. 0 or -1: the variant's own
/// choice; what it has no use for it ignores, and LaunchNotes::shape says what it took.
struct LaunchShape {
  int block = 0;                      // threads a block at most (CUDA), outputs walked at once (host)
  int blocks = 0;                     // blocks at most (CUDA)
  int multiprocessors = 0;            // a library counts on that many
  std::int64_t workspace_bytes = -1;  // a library may use that much
};

/// Everything one launch needs. Pointers are host pointers for host variants and device pointers for CUDA
/// ones; `out` is dense, in c->out_shape, of dtype `out_dtype`. `stream` is a cudaStream_t.
struct LaunchArgs {
  const Problem* problem = nullptr;
  const Contraction* contraction = nullptr;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;
  void* out = nullptr;
  DType in_dtype = DType::f32, out_dtype = DType::f32;
  Mode mode = Mode::fp32;
  void* stream = nullptr;
  int threads = 0;  // host variants
  LaunchShape shape;
  Layout layout = Layout::channels_first;  // of operands and output; `contraction` has its strides
};

/// What the launch can say about itself afterwards; goes into the record as it is.
struct LaunchNotes {
  std::string engine;              // vendor: engine, algorithm or kernel name; own kernels: tile and grid
  std::vector<std::string> notes;  // numerical notes (TENSOR_CORE, WINOGRAD, ...), launch shape
  std::int64_t workspace_bytes = 0;
  /// Grid and block, or a library's means, where LaunchArgs::shape can change them; else "". Not recorded.
  std::string shape{};
};

struct Variant {
  std::string name;     // "tile_64x64x8": lower case, unique together with `op`
  std::string op;       // the operator it implements; registered once per operator
  std::string summary;  // one line for `ulpscope list`
  std::string source;   // repo-relative file, for SARIF and `list`
  Where where = Where::host;
  bool vendor = false;
  std::vector<Mode> modes{Mode::fp32};  // modes it can be run in (own kernels usually have exactly one)
  bool deterministic = true;            // false: declares run-to-run differences (atomics)

  /// The declared plan for a problem and mode; "" when only probing or search can tell (vendor libraries).
  std::function<std::string(const Problem&, Mode)> plan;
  /// "" if it can run, else the reason, as it will be shown beside `skipped`.
  std::function<std::string(const Problem&, DType in, DType out, Mode)> unsupported;
  /// The same for LaunchArgs::layout = channels_last; unset: it takes no other layout.
  std::function<std::string(const Problem&, DType in, DType out, Mode)> channels_last{};
  /// Runs once, asynchronously on the stream for CUDA variants; throws Error on failure.
  std::function<LaunchNotes(const LaunchArgs&)> launch;
};

/// The declared plan with the output format it is stored in ("| out bf16"), or "".
std::string declared_plan(const Variant& variant, const Problem& problem, Mode mode, DType out);

/// All variants, sorted by (op, name).
const std::vector<Variant>& variants();
std::vector<const Variant*> variants_of(std::string_view op);

/// `static const Register r{{...}};` at namespace scope. Duplicates are reported by variants() as Error.
struct Register {
  explicit Register(Variant v);
  Register(Variant v, const std::vector<std::string>& ops);  // the same implementation for several operators
};

}  // namespace ulpscope
