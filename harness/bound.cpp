#include "harness/bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/statistics/error_model.hpp"
#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reference/plan/plan_types.hpp"

namespace ulpscope {
namespace {

OperandFormat stored_as(DType in) {
  switch (in) {
    case DType::f64:
      return OperandFormat::fp64;
    case DType::bf16:
      return OperandFormat::bf16;
    case DType::f16:
      return OperandFormat::fp16;
    default:
      return OperandFormat::fp32;
  }
}

bool admits_operand(Mode mode, DType in, OperandFormat format) {
  // An operand in a format that holds all its values loses nothing.
  if (contains(format, stored_as(in)) || format == OperandFormat::fp64 || format == OperandFormat::fp32)
    return true;
  const bool is_tf32 = format == OperandFormat::tf32_rne || format == OperandFormat::tf32_rna ||
                       format == OperandFormat::tf32_rz;
  switch (mode) {
    case Mode::tf32:
      return is_tf32;
    case Mode::bf16:
      return is_tf32 || format == OperandFormat::bf16 || format == OperandFormat::bf16_rz;
    case Mode::fp16:
      return is_tf32 || format == OperandFormat::fp16;
    default:
      return false;
  }
}

std::string with_output(std::string plan, DType out) {
  return out == DType::f32 ? plan : plan + " | out " + name_of(out);
}

/// A 16-bit gemm with split K may keep its partial sums in the output's format: cuBLAS does, unless
/// CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION is set ("cublasMath_t" in its manual).
bool admits_short_partials(Mode mode, DType out) {
  return (mode == Mode::bf16 && out == DType::bf16) || (mode == Mode::fp16 && out == DType::f16);
}

/// Representatives of what the mode admits; the widest of their bounds holds for all of it.
std::vector<std::string> admitted_plans(Mode mode, DType in, DType out) {
  // n rounded products and sums, in any order; with operands as they are stored.
  std::vector<std::string> plans{"fp32 | mul_add"};
  // A tensor core of any generation steps by at least 4 terms and keeps at least 23 fractional bits.
  auto shortened = [&](const char* operands) {
    plans.push_back(std::string(operands) + " | mul_add");
    plans.push_back(std::string(operands) + " | block 4 frac 23 rz");
  };
  if (mode == Mode::tf32 || mode == Mode::bf16 || mode == Mode::fp16) shortened("tf32_rz");
  if (mode == Mode::bf16) shortened("bf16_rz");
  if (mode == Mode::fp16) shortened("fp16");
  if (in == DType::bf16) shortened("bf16");
  if (in == DType::f16) shortened("fp16");
  if (admits_short_partials(mode, out)) {
    const std::size_t whole = plans.size();
    for (std::size_t i = 0; i < whole; ++i) plans.push_back(plans[i] + " | split 2 seq as " + name_of(out));
  }
  return plans;
}

double largest(const TensorView& t, int threads) {
  if (!t.data) return 0;
  constexpr std::int64_t kRun = std::int64_t{1} << 18;
  const std::int64_t n = t.size();
  std::vector<double> found(static_cast<std::size_t>((n + kRun - 1) / kRun));
  parallel_for(static_cast<std::int64_t>(found.size()), threads, [&](std::int64_t run) {
    double top = 0;
    const std::int64_t from = run * kRun, to = std::min(n, from + kRun);
    if (t.dtype == DType::f32) {
      const float* x = static_cast<const float*>(t.data);
      float top32 = 0;
      for (std::int64_t i = from; i < to; ++i) {
        const float size = std::fabs(x[i]);
        top32 = size > top32 && size <= std::numeric_limits<float>::max() ? size : top32;
      }
      top = static_cast<double>(top32);
    } else {
      for (std::int64_t i = from; i < to; ++i) {
        const double size = std::fabs(t.at(i));
        if (size > top && std::isfinite(size)) top = size;
      }
    }
    found[static_cast<std::size_t>(run)] = top;
  });
  return found.empty() ? 0 : *std::max_element(found.begin(), found.end());
}

}  // namespace

bool admits(Mode mode, DType in, const Plan& plan, std::string& why) {
  for (const OperandFormat f : {plan.operands.a, plan.operands.b})
    if (!admits_operand(mode, in, f)) {
      why = std::string("operands are shortened to ") + info(f).name + ", and mode " + to_string(mode) +
            " does not promise that";
      return false;
    }
  auto narrow = [](DType t) { return info(t).precision < info(DType::f32).precision; };
  bool short_sums = narrow(plan.arithmetic.accumulator) ||
                    (plan.arithmetic.step == Step::mul_add && narrow(plan.arithmetic.product));
  for (const Level& level : plan.levels)
    short_sums |= (level.in && narrow(*level.in)) ||
                  (level.as && narrow(*level.as) &&
                   !(*level.as == output_format(plan) && admits_short_partials(mode, *level.as)));
  if (short_sums)
    why = std::string("sums are kept in fewer bits than fp32, which mode ") + to_string(mode) +
          " does not promise";
  return !short_sums;
}

OutputBound bound_of_plan(const Plan& plan, const Contraction& c, const Operands& operands, int threads) {
  const PlanBound b = bound_of(plan, c, operands, threads);
  // `overflow_s` is the first S without a bound, `largest_s` the last one with.
  return {b.per_s, b.absolute, std::nextafter(b.largest_s, std::numeric_limits<double>::infinity()),
          b.formula};
}

OutputBound bound_of_mode(Mode mode, DType in, DType out, const Contraction& c, const Operands& operands,
                          int threads) {
  OutputBound widest;
  bool first = true;
  for (const std::string& text : admitted_plans(mode, in, out)) {
    const OutputBound b = bound_of_plan(*parse_plan(with_output(text, out)), c, operands, threads);
    if (first || b.per_s > widest.per_s) widest.formula = b.formula;
    widest.per_s = first ? b.per_s : std::max(widest.per_s, b.per_s);
    widest.absolute = first ? b.absolute : std::max(widest.absolute, b.absolute);
    widest.overflow_s = first ? b.overflow_s : std::min(widest.overflow_s, b.overflow_s);
    first = false;
  }
  return widest;
}

std::string usual_plan(Mode mode, DType in, DType out) {
  std::string plan = "fp32 | fma";
  if (in == DType::bf16 || mode == Mode::bf16) plan = "bf16 | block 16 frac 25 rz";
  if (in == DType::f16 || mode == Mode::fp16) plan = "fp16 | block 16 frac 25 rz";
  if (in == DType::f32 && mode == Mode::tf32) plan = "tf32_rne | block 8 frac 25 rz";
  return with_output(plan, out);
}

std::optional<double> expected_max(const Plan& plan, const Contraction& c, const Operands& operands,
                                   int threads) {
  if (is_unordered(plan)) return {};  // the model walks one order
  ModelOptions options;
  options.max_terms = std::int64_t{1} << 20;
  options.threads = threads;
  const ErrorMixture mixture = model_error(plan, c, model_data(operands), options);
  if (mixture.outputs.empty()) return {};
  const double expected = expected_max_abs(mixture);
  if (!std::isfinite(expected)) return {};
  return expected;
}

double magnitude_limit(const Contraction& c, const Operands& operands, int threads) {
  const double a = largest(operands.a, threads), b = c.b_is_ones ? 1 : largest(operands.b, threads);
  const double sum =
      static_cast<double>(c.terms()) * a * b + (c.has_bias ? largest(operands.bias, threads) : 0);
  return sum / c.divisor * (1 + 0x1p-20);
}

}  // namespace ulpscope
