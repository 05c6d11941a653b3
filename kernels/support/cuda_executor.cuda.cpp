// The executor for CUDA devices: operands uploaded, every launch twice into guarded and poisoned outputs, the
// two compared on the device, strips copied through pinned slots.
#include <algorithm>
#include <map>

#include "kernels/support/bits.hpp"
#include "kernels/support/device.hpp"
#include "kernels/support/device_info.hpp"
#include "kernels/support/executor.hpp"
#include "kernels/support/guarded_output.hpp"
#include "kernels/vendor/kernel_trace.hpp"
#include "reference/error.hpp"

namespace ulpscope::cuda {
namespace {

DeviceMemory uploaded(const TensorView& view, const char* what, cudaStream_t stream) {
  if (!view.data) return {};
  DeviceMemory memory(view.bytes(), what);
  copy_to_device(memory.data(), view.data, view.bytes(), stream);
  return memory;
}

DeviceMemory constant(const TensorView& view, double value, const char* what, cudaStream_t stream) {
  if (!view.data) return {};
  DeviceMemory memory(view.bytes(), what);
  fill_bits(memory.data(), view.dtype, view.size(),
            static_cast<std::uint32_t>(round_to_bits(view.dtype, value)), stream);
  return memory;
}

// Counters of one execution, in device memory.
struct Findings {
  Comparison comparison;
  unsigned long long guard_bytes_changed = 0;
};

struct CopySlot {
  PinnedMemory memory;
  Event done;
  std::vector<const void*> parts;
  bool filling = false;
};

class CudaExecutor final : public Executor {
 public:
  CudaExecutor() : findings_(sizeof(Findings), "counters") {
    // Scratch that launchers take in stream order stays with the pool between the two launches of one
    // execution, so that the second, which is timed, does not pay for it; trim_pool() gives it back.
    check(cudaDeviceGetDefaultMemPool(&pool_, device_info().index), "cudaDeviceGetDefaultMemPool");
    std::uint64_t keep = ~std::uint64_t{0};
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "cudaMemPoolSetAttribute");
  }

  Where where() const override { return Where::cuda; }

  std::vector<std::pair<std::string, std::string>> describe() const override {
    const DeviceInfo& d = device_info();
    auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v / 10 % 100); };
    return {{"device", d.name},
            {"compute_capability", std::to_string(d.cc_major) + "." + std::to_string(d.cc_minor)},
            {"multiprocessors", std::to_string(d.multiprocessors)},
            {"memory_bytes", std::to_string(d.memory_bytes)},
            {"driver", version(d.driver_version)},
            {"cuda_runtime", version(d.runtime_version)},
            {"cublas", d.cublas_version.empty() ? d.cublas_missing : d.cublas_version},
            {"cudnn", d.cudnn_version.empty() ? d.cudnn_missing : d.cudnn_version},
            {"cupti", d.cupti_version.empty() ? d.cupti_missing : d.cupti_version}};
  }

  std::int64_t free_bytes() const override {
    if (!lost_.empty()) return 0;
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    // Workspaces: cuDNN asks for gigabytes on large cases.
    const std::size_t margin = std::min<std::size_t>(total / 8, std::size_t{8} << 30);
    const std::size_t left = free > margin ? free - margin : 0;
    // An execution holds two outputs; the first launch's is kept for the next execution once it is there.
    return static_cast<std::int64_t>(first_.empty() ? left / 2 : left);
  }

  void set_inputs(const Operands& operands) override {
    guard_lost([&] {
      for (DeviceMemory* m : {&a_, &b_, &bias_}) *m = {};  // give back before taking: both sets need not fit
      first_ = {};                                         // free_bytes() must not depend on the case before
      trim_pool();
      a_ = uploaded(operands.a, "the first operand", stream_.get());
      b_ = uploaded(operands.b, "the second operand", stream_.get());
      bias_ = uploaded(operands.bias, "the bias", stream_.get());
      stream_.synchronize("uploading the operands");
      shapes_ = operands;
    });
  }

  Execution execute(const Variant& variant, const LaunchArgs& args) override {
    return guard_lost([&] {
      const std::int64_t count = args.contraction->outputs();
      if (first_.empty() || first_.count() != count || first_.type() != args.out_dtype) {
        first_ = {};
        first_ = GuardedOutput(args.out_dtype, count);
      }
      GuardedOutput second(args.out_dtype, count);
      Execution result;
      clear_findings();

      const std::vector<std::string> kernels = run_first(variant, args);
      run_second(variant, args, second, result);
      if (!kernels.empty()) name_kernels(result.notes, kernels);

      compare(second, result);
      trim_pool();
      result.output = next_handle_++;
      kept_.emplace(result.output, std::move(second));
      return result;
    });
  }

  std::vector<double> run_constant(const Variant& variant, const LaunchArgs& args, double a, double b,
                                   const std::vector<std::int64_t>& outputs) override {
    return guard_lost([&] {
      const DeviceMemory ca = constant(shapes_.a, a, "a constant operand", stream_.get());
      const DeviceMemory cb = constant(shapes_.b, b, "a constant operand", stream_.get());
      const DeviceMemory cbias = constant(shapes_.bias, 0, "a constant bias", stream_.get());
      GuardedOutput out(args.out_dtype, args.contraction->outputs());
      out.poison(0, stream_.get());
      LaunchArgs full = args;
      full.a = ca.data(), full.b = cb.data(), full.bias = cbias.data();
      full.out = out.data(), full.stream = stream_.get();
      variant.launch(full);
      const auto size = static_cast<std::size_t>(size_of(args.out_dtype));
      std::vector<std::uint32_t> bits(outputs.size(),
                                      0);  // little-endian: a short element fills its low half
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i] < 0 || outputs[i] >= out.count())
          throw Error("probe of output " + std::to_string(outputs[i]) + ": there are " +
                      std::to_string(out.count()));
        copy_to_host(&bits[i],
                     static_cast<const char*>(out.data()) + static_cast<std::size_t>(outputs[i]) * size, size,
                     stream_.get());
      }
      stream_.synchronize(variant.name.c_str());
      trim_pool();
      std::vector<double> values;
      for (const std::uint32_t x : bits) values.push_back(value_of_bits(args.out_dtype, x));
      return values;
    });
  }

  void run_once(const Variant& variant, const LaunchArgs& args, const Operands& operands,
                std::uint32_t* bits) override {
    guard_lost([&] {
      const DeviceMemory a = uploaded(operands.a, "the first operand", stream_.get());
      const DeviceMemory b = uploaded(operands.b, "the second operand", stream_.get());
      const DeviceMemory bias = uploaded(operands.bias, "the bias", stream_.get());
      GuardedOutput out(args.out_dtype, args.contraction->outputs());
      out.poison(0, stream_.get());
      LaunchArgs full = args;
      full.a = a.data(), full.b = b.data(), full.bias = bias.data();
      full.out = out.data(), full.stream = stream_.get();
      variant.launch(full);
      std::vector<char> host(out.payload_bytes());
      copy_to_host(host.data(), out.data(), host.size(), stream_.get());
      stream_.synchronize(variant.name.c_str());
      trim_pool();
      const TensorView view{host.data(), args.out_dtype, {out.count()}};
      for (std::int64_t o = 0; o < out.count(); ++o) bits[o] = static_cast<std::uint32_t>(view.bits_at(o));
    });
  }

  void start_copy(int slot, const std::vector<int>& outputs, const Strip& strip) override {
    guard_lost([&] {
      CopySlot& s = slots_[slot & 1];
      s.parts.clear();
      std::size_t bytes = 0;
      for (const int handle : outputs) bytes += part_bytes(kept(handle), strip);
      if (s.memory.bytes() < bytes) {
        s.memory = {};
        s.memory = PinnedMemory(bytes);
      }
      char* to = static_cast<char*>(s.memory.data());
      for (const int handle : outputs) {
        const GuardedOutput& output = kept(handle);
        copy_strip(to, output, strip);
        s.parts.push_back(to);
        to += part_bytes(output, strip);
      }
      s.done.record(copy_stream_.get());
      s.filling = true;
    });
  }

  std::vector<const void*> finish_copy(int slot) override {
    return guard_lost([&] {
      CopySlot& s = slots_[slot & 1];
      if (s.filling) s.done.wait();
      s.filling = false;
      return s.parts;
    });
  }

  void release(int output) override { kept_.erase(output); }

 private:
  // A fault inside a kernel ends the context: every later call would fail in its own words, so the first
  // reason is kept and repeated.
  template <class F>
  auto guard_lost(F&& f) -> decltype(f()) {
    if (!lost_.empty()) throw Error("the device was lost earlier in this run: " + lost_);
    try {
      return f();
    } catch (const Error& e) {
      if (cudaDeviceSynchronize() != cudaSuccess) lost_ = e.what();
      (void)cudaGetLastError();
      if (lost_.empty()) trim_pool();
      throw;
    }
  }

  void clear_findings() {
    const Findings empty;
    copy_to_device(findings_.data(), &empty, sizeof empty, stream_.get());
    stream_.synchronize("clearing counters");
  }

  LaunchNotes launch(const Variant& variant, LaunchArgs args, GuardedOutput& out) {
    args.a = a_.data(), args.b = b_.data(), args.bias = bias_.data();
    args.out = out.data(), args.stream = stream_.get();
    return variant.launch(args);
  }

  unsigned long long* guard_counter() const { return &findings_.as<Findings>()->guard_bytes_changed; }

  // Vendor kernels are named during the first launch, so that tracing does not disturb the second's time.
  std::vector<std::string> run_first(const Variant& variant, const LaunchArgs& args) {
    first_.poison(0, stream_.get());
    stream_.synchronize("poisoning the output");
    std::unique_ptr<vendor::KernelTrace> trace;
    if (variant.vendor) trace = std::make_unique<vendor::KernelTrace>();
    launch(variant, args, first_);
    stream_.synchronize(variant.name.c_str());
    std::vector<std::string> kernels;
    if (trace) kernels = trace->finish();
    first_.check_guards(guard_counter(), stream_.get());
    return kernels;
  }

  void run_second(const Variant& variant, const LaunchArgs& args, GuardedOutput& second, Execution& result) {
    second.poison(1, stream_.get());
    stream_.synchronize("poisoning the output");
    start_.record(stream_.get());
    result.notes = launch(variant, args, second);
    stop_.record(stream_.get());
    stream_.synchronize(variant.name.c_str());
    result.device_ms = Event::milliseconds(start_, stop_);
    second.check_guards(guard_counter(), stream_.get());
  }

  static void name_kernels(LaunchNotes& notes, const std::vector<std::string>& kernels) {
    if (!notes.engine.empty()) notes.notes.insert(notes.notes.begin(), notes.engine);
    notes.engine = vendor::summarize_kernels(kernels);
  }

  void compare(const GuardedOutput& second, Execution& result) {
    compare_bits(first_.data(), second.data(), second.type(), second.count(), poison_bits(second.type(), 0),
                 poison_bits(second.type(), 1), &findings_.as<Findings>()->comparison, stream_.get());
    Findings f;
    copy_to_host(&f, findings_.data(), sizeof f, stream_.get());
    stream_.synchronize("comparing two launches");
    result.differing = static_cast<std::int64_t>(f.comparison.differing);
    result.unwritten = static_cast<std::int64_t>(f.comparison.unwritten);
    if (result.differing) result.first_differing = static_cast<std::int64_t>(f.comparison.first_differing);
    if (result.unwritten) result.first_unwritten = static_cast<std::int64_t>(f.comparison.first_unwritten);
    result.guards_intact = f.guard_bytes_changed == 0;
  }

  const GuardedOutput& kept(int handle) const {
    const auto found = kept_.find(handle);
    if (found == kept_.end())
      throw Error("output " + std::to_string(handle) +
                  " was released or never existed: run the variant again");
    return found->second;
  }

  static std::size_t part_bytes(const GuardedOutput& output, const Strip& strip) {
    const std::size_t bytes =
        static_cast<std::size_t>(strip.count()) * static_cast<std::size_t>(size_of(output.type()));
    return (bytes + 63) / 64 * 64;  // each part starts on a cache line
  }

  void copy_strip(char* to, const GuardedOutput& output, const Strip& strip) {
    const auto size = static_cast<std::int64_t>(size_of(output.type()));
    const std::int64_t last = strip.begin + (strip.rows - 1) * strip.row_stride + strip.row_length;
    if (strip.begin < 0 || strip.rows < 1 || strip.row_length < 1 || strip.row_stride < 0 ||
        last > output.count())
      throw Error("a strip up to element " + std::to_string(last) + " leaves an output of " +
                  std::to_string(output.count()) + " elements");
    const char* from = static_cast<const char*>(output.data()) + strip.begin * size;
    const std::int64_t width = strip.row_length * size, pitch = strip.row_stride * size;
    // A pitched copy moves all rows at once, but its pitch is limited to 2^31-1 bytes and must not be below
    // the width.
    if (strip.rows > 1 && pitch >= width && pitch <= 0x7fffffff) {
      check(cudaMemcpy2DAsync(to, static_cast<std::size_t>(width), from, static_cast<std::size_t>(pitch),
                              static_cast<std::size_t>(width), static_cast<std::size_t>(strip.rows),
                              cudaMemcpyDeviceToHost, copy_stream_.get()),
            "copying a strip of the output");
      return;
    }
    for (std::int64_t row = 0; row < strip.rows; ++row)
      copy_to_host(to + row * width, from + row * pitch, static_cast<std::size_t>(width), copy_stream_.get());
  }

  void trim_pool() noexcept { check_noexcept(cudaMemPoolTrimTo(pool_, 0), "cudaMemPoolTrimTo"); }

  Stream stream_, copy_stream_;
  Event start_, stop_;
  cudaMemPool_t pool_ = nullptr;
  DeviceMemory a_, b_, bias_, findings_;
  Operands shapes_;      // of the inputs set last; its pointers only say which operands exist
  GuardedOutput first_;  // the first launch's output, reused by the next execution of the same size
  std::map<int, GuardedOutput> kept_;
  int next_handle_ = 0;
  CopySlot slots_[2];
  std::string lost_;
};

const RegisterExecutor registered{Where::cuda, [](std::string& reason) -> std::unique_ptr<Executor> {
                                    if (!device_info().available) {
                                      reason = device_info().reason;
                                      return nullptr;
                                    }
                                    return std::make_unique<CudaExecutor>();
                                  }};

}  // namespace
}  // namespace ulpscope::cuda
