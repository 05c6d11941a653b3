#pragma once
// Test support: random operands of a problem, for variants that are checked against their declared plan.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "kernels/support/registry.hpp"
#include "reference/operators/random_problem.hpp"

namespace ulpscope {

/// uniform; small integers (every order exact); products that underflow; signed zeros, infinities and NaN
/// among them.
enum class Values { uniform, integers, subnormal, special };
inline const char* to_string(Values v) {
  constexpr const char* kNames[] = {"uniform", "integers", "subnormal", "special"};
  return kNames[static_cast<int>(v)];
}

struct VariantInputs {
  Tensor a, b, bias;  // b, bias: no data where the problem has none
  Operands operands() const {
    return {a.view(), b.data ? b.view() : TensorView{}, bias.data ? bias.view() : TensorView{}};
  }
};

inline Tensor random_values(const Shape& shape, DType dtype, Values kind, Random& pick) {
  Tensor t = make_tensor(dtype, shape);
  for (std::int64_t i = 0; i < t.size(); ++i) {
    double v = 0;
    switch (kind) {
      case Values::uniform:
        v = static_cast<double>(pick(-1'000'000, 1'000'000)) * 0x1p-20;
        break;
      case Values::integers:
        v = static_cast<double>(pick(-4, 4));
        break;
      case Values::subnormal:
        v = static_cast<double>(pick(-999, 999)) * (dtype == DType::f16 ? 0x1p-24 : 0x1p-78);
        break;
      case Values::special: {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        const double choices[] = {1, -2, 0.0, -0.0, 3, kInfinity, -kInfinity, std::nan("")};
        v = choices[pick(0, pick(0, 9) == 0 ? 7 : 4)];
        break;
      }
    }
    const std::uint64_t bits = round_to_bits(dtype, v);
    const auto bytes = static_cast<std::size_t>(size_of(dtype));
    std::memcpy(static_cast<char*>(t.data.get()) + static_cast<std::size_t>(i) * bytes, &bits, bytes);
  }
  return t;
}

inline VariantInputs random_inputs(const Problem& p, DType dtype, Values kind, Random& pick) {
  VariantInputs d;
  d.a = random_values(p.a, dtype, kind, pick);
  if (!p.b.empty()) d.b = random_values(p.b, dtype, kind, pick);
  if (p.params.bias) d.bias = random_values(bias_shape(p), dtype, kind, pick);
  return d;
}

/// The declared plan with the output format that the run asks for.
inline std::string with_output(const std::string& plan, DType out) {
  return out == DType::f32 ? plan : plan + " | out " + name_of(out);
}

/// Same bits, or both NaN: payloads are not promised.
inline bool same_result(DType type, std::uint32_t x, std::uint32_t y) {
  return x == y || (std::isnan(value_of_bits(type, x)) && std::isnan(value_of_bits(type, y)));
}

}  // namespace ulpscope
