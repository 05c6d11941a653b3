// Host variants behind the executor's interface: the same guards, poison and two compared launches as on a
// device, and copies that copy nothing where the strip lies in one piece.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include "kernels/support/executor.hpp"
#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reference/simd.hpp"
#include "reference/tensor.hpp"

namespace ulpscope {
namespace {

class GuardedBuffer {
 public:
  GuardedBuffer(DType type, std::int64_t count) : type_(type), count_(count) {
    const auto bytes = static_cast<std::int64_t>(2 * kGuardBytes) + count * size_of(type);
    memory_ = make_tensor(DType::bf16, {(bytes + 1) / 2});  // only its bytes matter
  }

  void poison(int run) {
    std::memset(memory_.data.get(), kGuardByte, kGuardBytes);
    std::memset(out() + count_ * size_of(type_), kGuardByte, kGuardBytes);
    const std::uint32_t bits = poison_bits(type_, run);
    if (size_of(type_) == 2) {
      std::fill_n(reinterpret_cast<std::uint16_t*>(out()), count_, static_cast<std::uint16_t>(bits));
    } else {
      std::fill_n(reinterpret_cast<std::uint32_t*>(out()), count_ * size_of(type_) / 4, bits);
    }
  }

  bool guards_intact() const {
    auto intact = [](const unsigned char* p) {
      for (std::size_t i = 0; i < kGuardBytes; ++i)
        if (p[i] != kGuardByte) return false;
      return true;
    };
    return intact(memory_.as<unsigned char>()) &&
           intact(memory_.as<unsigned char>() + kGuardBytes + count_ * size_of(type_));
  }

  char* out() { return memory_.as<char>() + kGuardBytes; }
  const char* out() const { return memory_.as<char>() + kGuardBytes; }
  std::uint32_t bits(std::int64_t i) const {
    return static_cast<std::uint32_t>(TensorView{out(), type_, {count_}}.bits_at(i));
  }
  DType type() const { return type_; }
  std::int64_t count() const { return count_; }

 private:
  DType type_;
  std::int64_t count_;
  Tensor memory_;
};

class HostExecutor final : public Executor {
 public:
  Where where() const override { return Where::host; }

  std::vector<std::pair<std::string, std::string>> describe() const override {
    return {{"device", "host"}, {"simd", to_string(simd_level())}};
  }

  // Host memory is the operating system's to manage; a few gigabytes of kept outputs are a reasonable batch.
  std::int64_t free_bytes() const override {
    std::int64_t held = 0;
    for (auto& [handle, buffer] : kept_) held += buffer.count() * size_of(buffer.type());
    return std::max<std::int64_t>(0, (std::int64_t{2} << 30) - held);
  }

  void set_inputs(const Operands& operands) override { operands_ = operands; }

  Execution execute(const Variant& variant, const LaunchArgs& args) override {
    const std::int64_t count = args.contraction->outputs();
    Execution result;
    GuardedBuffer first(args.out_dtype, count), second(args.out_dtype, count);
    launch(variant, args, operands_, first, 0);
    const auto start = std::chrono::steady_clock::now();
    result.notes = launch(variant, args, operands_, second, 1);
    result.device_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    result.guards_intact = first.guards_intact() && second.guards_intact();
    compare(first, second, result);
    result.output = next_handle_++;
    kept_.emplace(result.output, std::move(second));
    return result;
  }

  std::vector<double> run_constant(const Variant& variant, const LaunchArgs& args, double a, double b,
                                   const std::vector<std::int64_t>& outputs) override {
    const Tensor ta = constant(operands_.a, a), tb = constant(operands_.b, b),
                 tbias = constant(operands_.bias, 0);
    Operands operands;
    if (ta.data) operands.a = ta.view();
    if (tb.data) operands.b = tb.view();
    if (tbias.data) operands.bias = tbias.view();
    GuardedBuffer out(args.out_dtype, args.contraction->outputs());
    launch(variant, args, operands, out, 0);
    std::vector<double> values;
    for (const std::int64_t o : outputs) values.push_back(value_of_bits(args.out_dtype, out.bits(o)));
    return values;
  }

  void run_once(const Variant& variant, const LaunchArgs& args, const Operands& operands,
                std::uint32_t* bits) override {
    GuardedBuffer out(args.out_dtype, args.contraction->outputs());
    launch(variant, args, operands, out, 0);
    if (!out.guards_intact()) throw Error(variant.name + " wrote outside its output");
    for (std::int64_t o = 0; o < out.count(); ++o) bits[o] = out.bits(o);
  }

  void start_copy(int slot, const std::vector<int>& outputs, const Strip& strip) override {
    Slot& s = slots_[slot & 1];
    s.parts.clear();
    s.copies.clear();
    for (const int handle : outputs) {
      const auto found = kept_.find(handle);
      if (found == kept_.end())
        throw Error("output " + std::to_string(handle) + " was released or never existed");
      const GuardedBuffer& buffer = found->second;
      const std::int64_t size = size_of(buffer.type());
      const char* from = buffer.out() + strip.begin * size;
      if (strip.rows == 1 || strip.row_stride == strip.row_length) {
        s.parts.push_back(from);
        continue;
      }
      Tensor copy = make_tensor(buffer.type(), {strip.count()});
      for (std::int64_t row = 0; row < strip.rows; ++row)
        std::memcpy(copy.as<char>() + row * strip.row_length * size, from + row * strip.row_stride * size,
                    static_cast<std::size_t>(strip.row_length * size));
      s.parts.push_back(copy.data.get());
      s.copies.push_back(std::move(copy));
    }
  }
  std::vector<const void*> finish_copy(int slot) override { return slots_[slot & 1].parts; }

  void release(int output) override { kept_.erase(output); }

 private:
  static LaunchNotes launch(const Variant& variant, LaunchArgs args, const Operands& operands,
                            GuardedBuffer& out, int run) {
    out.poison(run);
    args.a = operands.a.data;
    args.b = operands.b.data;
    args.bias = operands.bias.data;
    args.out = out.out();
    return variant.launch(args);
  }

  static Tensor constant(const TensorView& like, double value) {
    if (!like.data) return {};
    Tensor t = make_tensor(like.dtype, like.shape);
    const std::uint64_t bits = round_to_bits(like.dtype, value);
    const auto size = static_cast<std::size_t>(size_of(like.dtype));
    for (std::int64_t i = 0; i < t.size(); ++i)
      std::memcpy(t.as<char>() + static_cast<std::size_t>(i) * size, &bits, size);
    return t;
  }

  static void compare(const GuardedBuffer& first, const GuardedBuffer& second, Execution& result) {
    const auto bytes = static_cast<std::size_t>(first.count() * size_of(first.type()));
    const std::uint32_t before[] = {poison_bits(first.type(), 0), poison_bits(first.type(), 1)};
    if (std::memcmp(first.out(), second.out(), bytes) == 0) return;  // also: everything was written
    for (std::int64_t i = 0; i < first.count(); ++i) {
      const std::uint32_t x = first.bits(i), y = second.bits(i);
      if (x == y) continue;
      const bool unwritten = x == before[0] && y == before[1];
      std::int64_t& count = unwritten ? result.unwritten : result.differing;
      std::int64_t& where = unwritten ? result.first_unwritten : result.first_differing;
      if (count++ == 0) where = i;
    }
  }

  struct Slot {
    std::vector<const void*> parts;
    std::vector<Tensor> copies;
  };
  Operands operands_;
  std::map<int, GuardedBuffer> kept_;
  int next_handle_ = 0;
  Slot slots_[2];
};

const RegisterExecutor registered{Where::host, [](std::string&) { return std::make_unique<HostExecutor>(); }};

}  // namespace
}  // namespace ulpscope
