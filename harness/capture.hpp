#pragma once
// A capture: what a variant really produced. A file (.npz that NumPy opens): meta.json, and the output whole
// (output.npy) or in windows (window_NNN.npy with its begin in meta.json). Written beside, then renamed.
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "reference/tensor.hpp"

namespace ulpscope {

/// A run of outputs [begin, begin + count) in linear order, as raw bits of the output dtype.
struct Window {
  std::int64_t begin = 0;
  Tensor bits;  // 1-D
};

struct Capture {
  Case test;  // the case, whole: a capture judges without the cases folder
  std::string variant;
  Mode mode = Mode::fp32;
  std::string executed;        // "device", "host", "recorded"
  nlohmann::json environment;  // harness/environment.hpp
  std::string input_hash,
      output_hash;                  // output_hash covers the whole output, even when only windows are kept
  bool runs_identical = true;       // two runs compared in bits before anything else
  std::int64_t runs_differing = 0;  // outputs that differed between the two runs
  double device_ms = 0;
  LaunchNotes notes;
  std::string status = "ok";    // "ok", "skipped", "error"
  std::string reason;           // of skipped and error
  std::vector<Window> windows;  // one window covering everything when the output is stored whole
};

void write_capture(const std::string& path, const Capture& capture);
Capture read_capture(const std::string& path);  // throws Error on anything malformed

}  // namespace ulpscope
