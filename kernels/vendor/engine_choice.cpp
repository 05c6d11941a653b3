#include "kernels/vendor/engine_choice.hpp"

#include <algorithm>
#include <cmath>

namespace ulpscope::vendor {

std::vector<std::string> EngineNotes::names() const {
  std::vector<std::string> list;
  if (tensor_core) list.push_back("TENSOR_CORE");
  if (down_convert_inputs) list.push_back("DOWN_CONVERT_INPUTS");
  if (reduced_precision_sum) list.push_back("REDUCED_PRECISION_REDUCTION");
  if (fft) list.push_back("FFT");
  if (winograd) list.push_back("WINOGRAD");
  if (nondeterministic) list.push_back("NONDETERMINISTIC");
  return list;
}

const char* to_string(EngineFamily family) {
  switch (family) {
    case EngineFamily::direct:
      return "direct";
    case EngineFamily::winograd:
      return "winograd";
    case EngineFamily::fft:
      return "fft";
  }
  return "?";
}

std::string refusal(const EngineNotes& n, EngineFamily family, DType in, Mode mode) {
  if (n.winograd != (family == EngineFamily::winograd)) return n.winograd ? "WINOGRAD" : "no WINOGRAD";
  if (n.fft != (family == EngineFamily::fft)) return n.fft ? "FFT" : "no FFT";
  // A sum in less than fp32 is in no mode's promise: every mode's bound has an fp32 accumulator.
  if (n.reduced_precision_sum) return "REDUCED_PRECISION_REDUCTION";
  if (mode == Mode::strict && n.nondeterministic) return "NONDETERMINISTIC";
  if (in != DType::f32) return "";  // 16-bit operands are already what a tensor core takes
  const bool shortens_to_16 = mode == Mode::bf16 || mode == Mode::fp16;
  if (n.down_convert_inputs != shortens_to_16)
    return n.down_convert_inputs ? "DOWN_CONVERT_INPUTS" : "no DOWN_CONVERT_INPUTS";
  if (n.tensor_core && (mode == Mode::fp32 || mode == Mode::strict)) return "TENSOR_CORE";
  return "";
}

bool only_copies(std::vector<float> products, const TensorView& results) {
  std::sort(products.begin(), products.end());
  for (std::int64_t i = 0; i < results.size(); ++i) {
    const double seen = results.at(i);
    if (seen == 0) continue;
    if (std::isnan(seen) || !std::binary_search(products.begin(), products.end(), seen)) return false;
  }
  return true;
}

std::string mode_mismatch(DType in, DType out, Mode mode) {
  if (in == DType::f64 || out == DType::f64) return "the vendor variants take fp32, fp16 and bf16, not fp64";
  if (in == DType::f32)
    return out == DType::f32 ? "" : std::string("no vendor call reads fp32 and writes ") + name_of(out);
  const Mode own = in == DType::bf16 ? Mode::bf16 : Mode::fp16;
  if (mode != own)
    return std::string(name_of(in)) + " data run in mode " + ulpscope::to_string(own) + ", not " +
           ulpscope::to_string(mode);
  if (out != in && out != DType::f32)
    return std::string("no vendor call reads ") + name_of(in) + " and writes " + name_of(out);
  return "";
}

}  // namespace ulpscope::vendor
