#pragma once
// Where variants run: host memory or a CUDA device behind one interface, so that the run pipeline
// (harness/run) is written once. The host executor is harness/host_executor.cpp, the CUDA one lies in
// kernels/support. An executor is used from one thread. Everything throws Error (one line) on failure; after
// a failed launch the executor either still works or says, by every later call throwing, that the device is
// lost.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/support/registry.hpp"
#include "reference/exact.hpp"

namespace ulpscope {

/// Outputs in `rows` rows of `row_length` consecutive elements, each row `row_stride` elements after the one
/// before, the first at linear output index `begin`. A plain range has one row.
struct Strip {
  std::int64_t begin = 0, rows = 1, row_length = 0, row_stride = 0;
  std::int64_t count() const { return rows * row_length; }
};

/// What two launches of one variant left behind; every count covers the whole output.
struct Execution {
  int output = -1;             // handle of the second launch's output, kept until release()
  LaunchNotes notes;           // of the second launch
  double device_ms = 0;        // the second launch: CUDA events; host: steady clock
  std::int64_t differing = 0;  // outputs that were written and differ in bits between the two launches
  std::int64_t first_differing = -1;
  std::int64_t unwritten = 0;  // outputs that still hold the poison of both launches
  std::int64_t first_unwritten = -1;
  bool guards_intact = true;  // false: written outside [out, out + size)
};

/// The bits every output element (right-aligned, of `type`) holds before launch number `run` (0 or 1):
/// signalling NaNs that no arithmetic produces, another one for each launch, so that "unwritten" is told from
/// "differs".
constexpr std::uint32_t poison_bits(DType type, int run) {
  switch (type) {
    case DType::f16:
      return run == 0 ? 0x7da5u : 0x7d5au;
    case DType::bf16:
      return run == 0 ? 0x7fa5u : 0x7f9au;
    default:
      return run == 0 ? 0x7fa5c3e1u : 0x7f9a3c1eu;
  }
}

/// Bytes of guard before and after every output, filled with kGuardByte and checked after each launch.
inline constexpr std::size_t kGuardBytes = 4096;
inline constexpr unsigned char kGuardByte = 0xb7;

class Executor {
 public:
  virtual ~Executor() = default;

  virtual Where where() const = 0;
  /// Facts for the record's environment, e.g. {"device", "NVIDIA H200"}, {"driver", ...}, {"cudnn", ...}.
  virtual std::vector<std::pair<std::string, std::string>> describe() const = 0;
  /// Bytes that a further kept output may take, a margin for workspaces left out.
  virtual std::int64_t free_bytes() const = 0;

  /// The operands of the runs that follow: uploaded (CUDA), or used in place (host; must stay alive).
  /// Replaces the former ones; outputs kept so far stay.
  virtual void set_inputs(const Operands& operands) = 0;

  /// Runs the variant twice into guarded, poisoned outputs of the same shape and compares the two in bits.
  /// `args` comes without pointers and stream; problem and contraction must stay alive during the call only.
  virtual Execution execute(const Variant& variant, const LaunchArgs& args) = 0;

  /// One launch on operands of the same shapes and dtypes which are `a` and `b` in every element (bias zero);
  /// returns the values of the named outputs. For probes of what a variant does to its operands. The inputs
  /// set before are intact afterwards.
  virtual std::vector<double> run_constant(const Variant& variant, const LaunchArgs& args, double a, double b,
                                           const std::vector<std::int64_t>& outputs) = 0;

  /// One launch on other operands of the same shapes and dtypes, which must be dense; the bits of every
  /// output, right-aligned, go to `bits`. For probes. The inputs set before are intact afterwards.
  virtual void run_once(const Variant& variant, const LaunchArgs& args, const Operands& operands,
                        std::uint32_t* bits) = 0;

  /// Starts copying the same strip of several kept outputs to the host; two slots, 0 and 1, so that one can
  /// be filled while the other is read. finish_copy waits and returns one dense array of strip.count()
  /// elements (the storage format of the output's dtype) per output, valid until the slot is used again.
  virtual void start_copy(int slot, const std::vector<int>& outputs, const Strip& strip) = 0;
  virtual std::vector<const void*> finish_copy(int slot) = 0;

  virtual void release(int output) = 0;  // noexcept in spirit: an unknown handle is ignored
};

/// Makes an executor, or returns null and says in `reason` why there is none (no GPU, driver too old, ...).
using ExecutorFactory = std::function<std::unique_ptr<Executor>(std::string& reason)>;

/// `static const RegisterExecutor r{Where::cuda, factory};` at namespace scope.
struct RegisterExecutor {
  RegisterExecutor(Where where, ExecutorFactory factory);
};

/// Null, and the reason, when nothing is registered for `where` (a build without CUDA) or the factory
/// declines.
std::unique_ptr<Executor> make_executor(Where where, std::string& reason);

}  // namespace ulpscope
