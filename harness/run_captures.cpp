#include "harness/run_captures.hpp"

#include <cstring>
#include <filesystem>

#include "harness/capture.hpp"
#include "harness/io/atomic_file.hpp"
#include "harness/io/bytes.hpp"
#include "harness/io/read_json.hpp"
#include "reference/error.hpp"

namespace ulpscope {

using nlohmann::json;

CaptureFolder::CaptureFolder(std::string folder, json environment, const std::string& settings)
    : folder_(std::move(folder)),
      environment_(std::move(environment)),
      fingerprint_(environment_fingerprint(environment_) + settings) {}

std::string CaptureFolder::result_path(const Case& test, const std::string& variant, Mode mode) const {
  std::filesystem::path path = std::filesystem::path(folder_) / capture_file_name(test, variant, mode);
  return path.replace_extension(".result.json").string();
}

std::optional<FinishedResult> CaptureFolder::finished(const Case& test, const std::string& variant,
                                                      Mode mode) const {
  if (!in_use()) return {};
  const std::string path = result_path(test, variant, mode);
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable)) return {};
  const Bytes file = map_file(path);
  json stored;
  try {
    stored = read_json(file.text());
  } catch (const Error&) {
    return {};
  }
  if (!stored.is_object() || stored.value("fingerprint", json()) != fingerprint_) return {};
  FinishedResult result{stored.value("row", json()), stored.value("timing", json())};
  if (!result.row.is_object() || !result.timing.is_object()) return {};
  const json expected{to_string(test), variant, to_string(mode)};
  if (json{result.row.value("case_text", json()), result.row.value("variant", json()),
           result.row.value("mode", json())} != expected)
    return {};
  result.row["case"] = test.name;  // the same experiment under another name
  result.timing["case"] = test.name;
  return result;
}

void CaptureFolder::store_result(const Result& result, const FinishedResult& finished) const {
  if (!in_use() || result.judgement.verdict == Verdict::error) return;  // an error is tried again
  const json stored{{"fingerprint", fingerprint_}, {"row", finished.row}, {"timing", finished.timing}};
  write_text(result_path(result.test, result.variant, result.mode), stored.dump(1) + "\n");
}

void CaptureFolder::store_capture(const Result& result, Executor& executor, int output, const Contraction& c,
                                  std::int64_t max_bytes) const {
  if (!in_use()) return;
  Capture capture;
  capture.test = result.test;
  capture.variant = result.variant;
  capture.mode = result.mode;
  capture.executed = result.executed;
  capture.environment = environment_;
  capture.input_hash = result.input_hash;
  capture.output_hash = result.output_hash;
  capture.runs_identical = result.evidence.differing == 0;
  capture.runs_differing = result.evidence.differing;
  capture.device_ms = result.device_ms;
  capture.notes = result.notes;
  capture.declared_plan = result.declared_plan;
  capture.declared_nondeterministic = result.evidence.declared_nondeterministic;
  capture.unwritten = result.evidence.unwritten;
  capture.first_differing = result.evidence.first_differing;
  capture.first_unwritten = result.evidence.first_unwritten;
  capture.guards_intact = result.evidence.guards_intact;
  capture.effective_mode = result.evidence.effective_mode;
  capture.ones = result.evidence.ones;
  const DType out = result.test.out;
  for (const WindowRange& w : plan_windows(c, out, max_bytes, result.test.seed)) {
    executor.start_copy(0, {output}, {w.begin, 1, w.count, w.count});
    const void* bits = executor.finish_copy(0).at(0);
    Tensor copy = make_tensor(out, {w.count});
    std::memcpy(copy.data.get(), bits, static_cast<std::size_t>(w.count * size_of(out)));
    capture.windows.push_back({w.begin, copy});
  }
  write_capture(
      (std::filesystem::path(folder_) / capture_file_name(result.test, result.variant, result.mode)).string(),
      capture);
}

}  // namespace ulpscope
