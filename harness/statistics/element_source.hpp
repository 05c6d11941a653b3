#pragma once
// Elements of tensors by index, wherever they come from: memory, or a fill that was never written out. So a
// sample of outputs of a 4 GiB problem costs what the sample costs.
#include <cstdint>
#include <functional>
#include <vector>

#include "harness/inputs.hpp"
#include "reference/contraction.hpp"
#include "reference/exact.hpp"

namespace ulpscope {

struct ElementSource {
  std::function<void(const std::int64_t* index, std::size_t n, double* values)> gather;  // null: no tensor
};
ElementSource elements_of(const TensorView& tensor);  // the memory must stay alive; null data: no tensor
ElementSource elements_of(const TensorFill& fill);

struct ModelData {
  ElementSource a, b, bias;
};
ModelData model_data(const Operands& operands);
ModelData model_data(const Case& c);  // as make_inputs would fill them

/// One output's existing terms at a time. Scratch of one thread.
class TermGather {
 public:
  /// Both must outlive this.
  TermGather(const Contraction& c, const ModelData& data) : c_(c), data_(data) {}

  void load(std::int64_t output);
  /// Values of A at other places than the terms' own (for planted mistakes).
  void values_of_a(const std::vector<std::int64_t>& index, std::vector<double>& values) const;

  std::size_t n = 0;                      // existing terms
  std::vector<std::int64_t> index_a, id;  // of each term: element of A, canonical number
  std::vector<double> a, b;               // operands of each term
  double bias = 0;
  bool has_bias = false;

 private:
  const Contraction& c_;
  const ModelData& data_;
  std::vector<std::int64_t> index_b_;
};

/// Which of `total` outputs a sample of n looks at: evenly spread, one from each of n equal strata, by a
/// counter-based generator.
std::vector<std::int64_t> sampled_outputs(std::int64_t total, std::int64_t n);

/// How many outputs may be looked at for at most `max_terms` terms in all (at least 64, at most all).
std::int64_t sample_size(const Contraction& c, std::int64_t max_terms);

}  // namespace ulpscope
