#include "harness/probe/step_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "harness/probe/step_rows.hpp"
#include "kernels/support/device_info.hpp"
#include "reference/arithmetic/architectures.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kRandomRows = 1 << 14;
constexpr int kTop = 12;  // exponent of the large products below
constexpr int kMostFrac = 34;

class StepProbe {
 public:
  StepProbe(MmaKind kind, const StepFunction& run)
      : kind_(kind), run_(run), k_(static_cast<std::size_t>(mma_k(kind))) {
    found_.kind = kind;
    found_.step.accumulator = accumulator_of(kind);
  }

  StepFindings find() {
    find_length();
    find_width();
    find_kept();
    find_rounding();
    find_subnormals();
    falsify();
    return found_;
  }

 private:
  StepRow empty() const { return {std::vector<float>(k_), std::vector<float>(k_), 0}; }
  bool half_out() const { return found_.step.accumulator == DType::f16; }

  std::vector<std::uint32_t> ask_bits(const StepBits& bits) {
    ++found_.launches;
    return run_(kind_, bits.a, bits.b, bits.c);
  }
  std::vector<double> ask(const std::vector<StepRow>& rows) {
    std::vector<double> values;
    for (const std::uint32_t x : ask_bits(encode(kind_, rows)))
      values.push_back(value_of_bits(found_.step.accumulator, x));
    return values;
  }

  // M at i, -M at j, ones elsewhere and in the accumulator: the ones added outside the smallest step or chain
  // of steps that holds both are left.
  void find_length() {
    const int one = half_out() ? -14 : -24;  // an fp16 result must stay normal
    std::vector<StepRow> rows;
    for (std::size_t i = 0; i < k_; ++i)
      for (std::size_t j = i + 1; j < k_; ++j) {
        StepRow row = empty();
        for (std::size_t k = 0; k < k_; ++k) put_power(row, k, one);
        put_power(row, i, 15);
        put_power(row, j, 15, -1);
        row.c = std::ldexp(1.0f, one);
        rows.push_back(std::move(row));
      }
    const std::vector<double> results = ask(rows);
    const auto outside = [&](std::size_t i, std::size_t j) {
      const std::size_t at = i * k_ - i * (i + 1) / 2 + (j - i - 1);
      return std::ldexp(results[at], -one);
    };
    std::size_t length = 1;
    while (length < k_ && outside(0, length) == outside(0, 1)) ++length;
    found_.step.terms = static_cast<int>(length);
    for (std::size_t i = 0; i < k_; ++i)
      for (std::size_t j = i + 1; j < k_; ++j) {
        const std::size_t done = std::min(k_, (j / length + 1) * length);
        found_.chained &= outside(i, j) == static_cast<double>(k_ - done);
      }
  }

  // 2^12, 2^(12-s), -2^12 in one step: the smallest that is left.
  void find_width() {
    std::vector<StepRow> rows;
    for (int s = 1; s <= kMostFrac; ++s) rows.push_back(wide_row(kTop - s, 1));
    const std::vector<double> left = ask(rows);
    int frac = 0;
    while (frac < kMostFrac && left[static_cast<std::size_t>(frac)] == std::ldexp(1.0, kTop - frac - 1))
      ++frac;
    found_.step.frac = std::max(frac, 1);
    // Half a place more than that, either sign: dropped, if products are truncated when they are aligned.
    const std::vector<double> halves = ask({wide_row(kTop - frac, 1.5f), wide_row(kTop - frac, -1.5f)});
    const double last = std::ldexp(1.0, kTop - frac);
    found_.alignment = halves[0] == last && halves[1] == -last ? "rz" : "other";
  }
  StepRow wide_row(int exponent, float factor) const {
    StepRow row = empty();
    put_power(row, 0, kTop);
    put_power(row, 1, exponent, factor);
    put_power(row, std::min<std::size_t>(2, k_ - 1), kTop, -1);
    return row;
  }

  StepRow sum_row(float c, std::initializer_list<int> exponents, float sign) const {
    StepRow row = empty();
    row.c = sign * c;
    std::size_t k = 0;
    for (const int e : exponents) put_power(row, k++, e, sign);
    return row;
  }

  void find_kept() {
    const int most = half_out() ? 10 : 23;
    std::vector<StepRow> rows;
    for (int s = 1; s <= most; ++s) rows.push_back(sum_row(1, {-s}, 1));
    const std::vector<double> sums = ask(rows);
    int kept = 0;
    while (kept < most && sums[static_cast<std::size_t>(kept)] == 1 + std::ldexp(1.0, -kept - 1)) ++kept;
    kept_ = kept;
    found_.step.keep = half_out() && kept == most ? 23 : kept;
  }

  // Ties above an even and an odd neighbour, and what is beyond them, of either sign.
  void find_rounding() {
    const double q = std::ldexp(1.0, -kept_);
    std::vector<StepRow> rows;
    for (const float sign : {1.0f, -1.0f}) {
      rows.push_back(sum_row(1, {-kept_ - 1}, sign));
      rows.push_back(sum_row(1, {-kept_, -kept_ - 1}, sign));
      rows.push_back(sum_row(1, {-kept_ - 1, -kept_ - 2}, sign));
    }
    std::vector<double> r = ask(rows);
    for (std::size_t i = 3; i < 6; ++i) r[i] = -r[i];
    const auto all = [&](double even, double odd, double beyond) {
      // Beyond a tie is only seen where a step is two places wider than the result.
      const bool seen = found_.step.frac >= kept_ + 2;
      return r[0] == even && r[3] == even && r[1] == odd && r[4] == odd &&
             (!seen || (r[2] == beyond && r[5] == beyond));
    };
    if (all(1, 1 + q, 1))
      found_.rounding = "rz";
    else if (all(1, 1 + 2 * q, 1 + q))
      found_.rounding = "rne";
    else
      found_.rounding = "other";
    found_.step.rounding = found_.rounding == "rne" ? StepRounding::rne : StepRounding::rz;
  }

  void find_subnormals() {
    const bool half = operand_of(kind_) == OperandFormat::fp16;
    const auto product = [&](float a, float b) {
      StepRow row = empty();
      row.a[0] = a, row.b[0] = b;
      return row;
    };
    // An fp16 product cannot lie below fp32's normal range; there the accumulator answers for the result.
    const float c = half_out() ? 0x1p-20f : 0x1p-140f;
    StepRow accumulator = empty();
    accumulator.c = c;
    StepRow nan = empty();
    nan.c = std::nanf("");
    const std::vector<StepRow> rows{half ? product(0x1p-20f, 0x1p10f) : product(0x1p-130f, 0x1p100f),
                                    half_out() ? product(0x1p-10f, 0x1p-10f)
                                    : half     ? accumulator
                                               : product(0x1p-100f, 0x1p-40f),
                                    accumulator, nan};
    const StepBits bits = encode(kind_, rows);
    const std::vector<std::uint32_t> answers = ask_bits(bits);
    const auto value = [&](std::size_t i) { return value_of_bits(found_.step.accumulator, answers[i]); };
    found_.subnormal_operands = value(0) == (half ? 0x1p-10 : 0x1p-30);
    found_.subnormal_results = value(1) == (half_out() ? 0x1p-20 : 0x1p-140);
    found_.subnormal_accumulators = value(2) == static_cast<double>(c);
    found_.nan = answers[3];
  }

  // How far down products are aligned shows in tiny rows only, so the floor is the one that explains most.
  void falsify() {
    const StepBits bits = encode(kind_, random_rows(kind_, kRandomRows, 1));
    const std::vector<std::uint32_t> got = ask_bits(bits);
    const DType out = found_.step.accumulator;
    found_.tested = kRandomRows;
    found_.equal = -1;
    for (const int floor : {-133, -126, -149, -1000}) {
      BlockStep step = found_.step;
      step.floor = floor;
      std::int64_t equal = 0;
      for (std::int64_t i = 0; i < kRandomRows; ++i) {
        const std::uint32_t x = got[static_cast<std::size_t>(i)], y = replay_row(kind_, step, bits, i);
        equal += x == y || (std::isnan(value_of_bits(out, x)) && std::isnan(value_of_bits(out, y)));
      }
      if (equal > found_.equal) {
        found_.equal = equal;
        found_.step.floor = floor;
      }
      if (equal == kRandomRows) break;
    }
  }

  MmaKind kind_;
  const StepFunction& run_;
  std::size_t k_;
  int kept_ = 23;
  StepFindings found_;
};

std::string differences(const StepFindings& f, const BlockStep& table) {
  std::vector<std::string> all;
  const auto compare = [&](const char* what, auto found, auto expected) {
    if (found != expected) all.push_back(fmt::format("{} is {}, not {}", what, found, expected));
  };
  const auto name = [](StepRounding r) { return r == StepRounding::rz ? "rz" : "rne"; };
  compare("L", f.step.terms, table.terms);
  compare("F", f.step.frac, table.frac);
  compare("the rounding", f.rounding, std::string(name(table.rounding)));
  compare("the alignment", f.alignment, std::string("rz"));
  compare("the number of kept bits", f.step.keep, table.keep);
  compare("the exponent floor", f.step.floor, table.floor);
  if (!f.chained) all.push_back("its steps do not follow each other with the sum so far fused in");
  if (!f.subnormal_operands || !f.subnormal_results || !f.subnormal_accumulators)
    all.push_back("subnormal numbers are flushed");
  if (f.equal != f.tested)
    all.push_back(fmt::format("only {} of {} random rows are what the step found gives", f.equal, f.tested));
  std::string text;
  for (const std::string& d : all) text += (text.empty() ? "" : "; ") + d;
  return text;
}

}  // namespace

StepFindings probe_step(MmaKind kind, int sm, const StepFunction& run) {
  StepFindings found;
  try {
    found = StepProbe(kind, run).find();
  } catch (const std::exception& e) {
    found = {};
    found.kind = kind;
    found.error = e.what();
    return found;
  }
  if (const TensorCore* row = find_tensor_core(sm, operand_of(kind), accumulator_of(kind))) {
    found.architecture = row->architecture;
    found.difference = differences(found, row->step);
    found.agrees = found.difference.empty();
  }
  return found;
}

std::vector<StepFindings> probe_steps(int sm, const StepFunction& run) {
  std::vector<StepFindings> all;
  for (const MmaKind kind : {MmaKind::tf32_f32, MmaKind::bf16_f32, MmaKind::f16_f32, MmaKind::f16_f16})
    all.push_back(probe_step(kind, sm, run));
  return all;
}

std::optional<bool> arithmetic_agrees(const std::vector<StepFindings>& steps, std::string& why) {
  why.clear();
  std::optional<bool> agrees;
  std::string unknown;
  for (const StepFindings& s : steps) {
    const std::string kind = to_string(s.kind);
    if (!s.agrees) {
      unknown = kind + ": " + (s.error.empty() ? "the table has no row for this architecture" : s.error);
      continue;
    }
    if (!*s.agrees) {
      why += (why.empty() ? "" : "; ") + kind + " on " + s.architecture + ": " + s.difference;
      agrees = false;
    } else if (!agrees) {
      agrees = true;
    }
  }
  if (!agrees) why = unknown;
  return agrees;
}

const DeviceArithmetic& device_arithmetic() {
  static const DeviceArithmetic once = [] {
    DeviceArithmetic d;
    const DeviceInfo& device = device_info();
    if (!device.available) {
      d.why = device.reason;
      return d;
    }
    d.steps = probe_steps(10 * device.cc_major + device.cc_minor, mma_step);
    d.agrees = arithmetic_agrees(d.steps, d.why);
    return d;
  }();
  return once;
}

}  // namespace ulpscope
