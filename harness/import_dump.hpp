#pragma once
// Captures of results that another program dumped: its operands travel inside, so that any machine can judge
// it.
#include <string>
#include <vector>

#include "harness/capture.hpp"

namespace ulpscope {

/// What is known of a dumped call. Arrays are named as read_tensor wants them.
struct DumpedCall {
  std::string case_text;  // operator, shapes, formats, tolerance: harness/case.hpp; its fills are not used
  std::string name;       // of the case in records; "": the text
  std::string variant = "dump";
  Mode mode = Mode::fp32;
  std::string a, b, bias, output;
  std::string repeat;  // the same call's output once more, or ""
  std::string slice;   // the part of the output that was dumped, FROM:TO per spatial axis; "": all of it
  std::string plan;    // declared, or ""
  std::string device;  // where it ran, or ""
  std::string engine;  // what the library called it, or ""
  std::vector<std::string> notes;  // WINOGRAD, FFT, NONDETERMINISTIC, ...
};

/// Reads the arrays and hashes the operands. Throws Error in one line where something does not fit.
Capture import_dump(const DumpedCall& call, int threads = 0);

}  // namespace ulpscope
