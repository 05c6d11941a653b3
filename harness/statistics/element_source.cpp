#include "harness/statistics/element_source.hpp"

#include <algorithm>
#include <bit>

#include "reference/terms.hpp"

namespace ulpscope {
namespace {

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class T>
std::function<void(const std::int64_t*, std::size_t, double*)> direct(const T* data) {
  return [data](const std::int64_t* index, std::size_t n, double* values) {
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>(data[index[i]]);
  };
}

}  // namespace

ElementSource elements_of(const TensorView& tensor) {
  if (!tensor.data) return {};
  if (tensor.dtype == DType::f32) return {direct(static_cast<const float*>(tensor.data))};
  if (tensor.dtype == DType::f64) return {direct(static_cast<const double*>(tensor.data))};
  return {[tensor](const std::int64_t* index, std::size_t n, double* values) {
    for (std::size_t i = 0; i < n; ++i) values[i] = tensor.at(index[i]);
  }};
}

ElementSource elements_of(const TensorFill& fill) {
  if (!fill.present) return {};
  return {[fill](const std::int64_t* index, std::size_t n, double* values) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t bits = fill_element(fill.params, fill.key, static_cast<std::uint64_t>(index[i]));
      values[i] = fill.dtype == DType::f32
                      ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                      : value_of_bits(fill.dtype, bits);
    }
  }};
}

ModelData model_data(const Operands& operands) {
  return {elements_of(operands.a), elements_of(operands.b), elements_of(operands.bias)};
}

ModelData model_data(const Case& c) {
  const CaseFills fills = resolve_fills(c);
  return {elements_of(fills.a), elements_of(fills.b), elements_of(fills.bias)};
}

void TermGather::load(std::int64_t output) {
  index_a.clear();
  index_b_.clear();
  id.clear();
  for_each_term(c_, output, [&](std::int64_t at_a, std::int64_t at_b, std::int64_t term) {
    index_a.push_back(at_a);
    index_b_.push_back(at_b);
    id.push_back(term);
  });
  n = id.size();
  a.resize(n);
  b.assign(n, 1.0);
  data_.a.gather(index_a.data(), n, a.data());
  if (!c_.b_is_ones) data_.b.gather(index_b_.data(), n, b.data());
  bias = 0;
  has_bias = c_.has_bias && data_.bias.gather;
  if (has_bias) {
    const std::int64_t i = bias_index(c_, output);
    data_.bias.gather(&i, 1, &bias);
  }
}

void TermGather::values_of_a(const std::vector<std::int64_t>& index, std::vector<double>& values) const {
  values.resize(index.size());
  data_.a.gather(index.data(), index.size(), values.data());
}

std::vector<std::int64_t> sampled_outputs(std::int64_t total, std::int64_t n) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    // Stratum [from, to) in 128 bits: total * n may pass 63.
    const auto from = static_cast<std::int64_t>(static_cast<__int128>(total) * i / n);
    const auto to = static_cast<std::int64_t>(static_cast<__int128>(total) * (i + 1) / n);
    const auto width = static_cast<std::uint64_t>(std::max<std::int64_t>(to - from, 1));
    index[static_cast<std::size_t>(i)] =
        from + static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(i)) % width);
  }
  return index;
}

std::int64_t sample_size(const Contraction& c, std::int64_t max_terms) {
  const std::int64_t total = c.outputs(), terms = std::max<std::int64_t>(c.terms(), 1);
  return std::clamp<std::int64_t>(max_terms / terms, std::min<std::int64_t>(total, 64), total);
}

}  // namespace ulpscope
