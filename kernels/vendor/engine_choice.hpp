#pragma once
// Which of a library's engines a mode admits, from the numerical notes an engine carries. Notes have been
// wrong, so this chooses; what really happened is probed.
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/support/registry.hpp"
#include "reference/tensor.hpp"

namespace ulpscope::vendor {

struct EngineNotes {
  bool tensor_core = false;            // fp32 data: operands go through TF32
  bool down_convert_inputs = false;    // operands are shortened to 16 bits
  bool reduced_precision_sum = false;  // accumulates in less than fp32
  bool fft = false, winograd = false;
  bool nondeterministic = false;

  std::vector<std::string> names() const;  // as the library spells them
};

/// Engines that sum the terms themselves, and transforms, whose bounds are others: asked for by name.
enum class EngineFamily : std::uint8_t { direct, winograd, fft };
const char* to_string(EngineFamily family);

/// "" if an engine with these notes keeps the promise of `mode` for data of type `in`, else why not.
std::string refusal(const EngineNotes& notes, EngineFamily family, DType in, Mode mode);

/// Whether every result is zero or one of `products`: what sums give that have at most one product, one of
/// these, that is not zero. (Takes the products by value: it sorts them.)
bool only_copies(std::vector<float> products, const TensorView& results);

/// "" if a vendor call can be made in this mode on such data at all, else why not: 16-bit data have only
/// their own mode, since no library runs fp32 arithmetic on them.
std::string mode_mismatch(DType in, DType out, Mode mode);

}  // namespace ulpscope::vendor
