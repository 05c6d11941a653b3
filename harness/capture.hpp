#pragma once
// A capture: what a variant really produced. A file (.npz that NumPy opens): meta.json, and the output whole
// (output.npy) or in windows (window_NNN.npy with its begin in meta.json). Written beside, then renamed.
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/case.hpp"
#include "harness/io/bytes.hpp"
#include "harness/judge.hpp"
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
      output_hash;                  // covers the whole output, even when only windows are kept; "": unknown
  bool runs_identical = true;       // two runs compared in bits before anything else
  std::int64_t runs_differing = 0;  // outputs that differed between the two runs
  double device_ms = 0;
  LaunchNotes notes;
  // What only the machine that ran it could tell; captures made elsewhere may lack all of it.
  std::string declared_plan;  // "": none
  bool declared_nondeterministic = false;
  std::int64_t unwritten = 0;                               // outputs still poisoned after both runs
  std::int64_t first_differing = -1, first_unwritten = -1;  // their smallest indices; -1: none, or not known
  bool guards_intact = true;
  std::string effective_mode;  // by a probe; "": not probed
  SumsOfOnes ones;
  std::string status = "ok";  // "ok", "skipped", "error"
  std::string reason;         // of skipped and error
  // The operands themselves, for results whose inputs no case can make again (dumps of other programs); all
  // three may be empty. With them the case's fills mean nothing.
  Tensor a, b, bias;
  std::vector<Window> windows;  // one window covering everything when the output is stored whole
};

/// Throws Error if the capture contradicts itself (windows outside the output, another dtype) or the file
/// cannot be written; never leaves half a file.
void write_capture(const std::string& path, const Capture& capture);

/// Windows map the file. Throws Error on anything malformed: a cut or altered archive, unknown schema,
/// missing or ill-typed fields, windows that overlap or leave the output, a whole output that misses its
/// hash.
Capture read_capture(const std::string& path);
Capture read_capture(const Bytes& file);

/// The same from its parts: the text of meta.json, what messages call the file, and a reader of members.
Capture assemble_capture(std::string_view meta, const std::string& name,
                         const std::function<Tensor(const std::string&)>& array);

/// The stretch of outputs a window is to hold.
struct WindowRange {
  std::int64_t begin = 0, count = 0;
  bool operator==(const WindowRange&) const = default;
};

/// What to keep of an output: everything if that takes at most max_bytes, else sorted, disjoint stretches of
/// at most that in all, chosen by `seed` alone: both ends of the output and of every axis, seams of tiles of
/// 32, 64, 128 and 256 along every axis (last partial tiles included), and random places spread evenly.
std::vector<WindowRange> plan_windows(const Contraction& contraction, DType out, std::int64_t max_bytes,
                                      std::uint64_t seed);

/// The file a capture goes to within a folder: readable, and another one whenever case, variant or mode
/// differ.
std::string capture_file_name(const Case& test, const std::string& variant, Mode mode);

/// Finished captures (*.npz) under a folder, sorted; files that a killed run left beside are none.
std::vector<std::string> capture_files(const std::string& folder);

/// Whether `path` holds a readable capture of this case, variant and mode on these inputs, so that an
/// interrupted run can go on without repeating it. A damaged or foreign file is simply no such capture. A
/// capture of status "error" is not one either: it is tried again.
bool has_capture(const std::string& path, const Case& test, const std::string& variant, Mode mode,
                 const std::string& input_hash);

}  // namespace ulpscope
