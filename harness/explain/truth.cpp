// True values of the dumped outputs, and operands as some rounding leaves them.
#include <algorithm>
#include <cmath>

#include "harness/explain/side.hpp"

namespace ulpscope {

bool same_data(const TensorView& t, OperandFormat f, OperandFormat g) {
  if (f == g || !t.data) return true;
  const std::int64_t n = t.size();
  const float* dense = t.dtype == DType::f32 ? static_cast<const float*>(t.data) : nullptr;
  for (std::int64_t i = 0; i < n; ++i) {
    const float x = dense ? dense[i] : static_cast<float>(t.at(i));
    const float p = shorten(f, x), q = shorten(g, x);
    if (!(p == q || (std::isnan(p) && std::isnan(q)))) return false;
  }
  return true;
}

Tensor shortened(const TensorView& t, OperandFormat format) {
  Tensor r = make_tensor(DType::f32, t.shape);
  float* x = r.as<float>();
  const std::int64_t n = t.size();
  if (t.dtype == DType::f32)
    std::copy_n(static_cast<const float*>(t.data), n, x);
  else
    for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(t.at(i));
  if (format != OperandFormat::fp32) shorten(format, x, static_cast<std::size_t>(n));
  return r;
}

Truth truth_of(const Contraction& c, const Operands& operands, DType out, int threads) {
  Truth t;
  t.out = out;
  const auto n = static_cast<std::size_t>(c.outputs());
  t.value.resize(n);
  t.magnitude.resize(n);
  t.rounded.resize(n);
  ExactOptions options;
  options.out = out;
  options.threads = threads;
  exact(c, operands, options, 0, c.outputs(), {t.value.data(), t.magnitude.data(), t.rounded.data()});
  return t;
}

}  // namespace ulpscope
