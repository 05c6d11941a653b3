#pragma once
// The record of a run: schema "ulpscope.run/1", {schema, environment, results, cases, timings}. `results` and
// `cases` depend on cases, variants and device alone, never on threads or time; what does (times, the command
// line) lies beside them.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/case.hpp"
#include "harness/judge.hpp"

namespace ulpscope {

/// One case, variant and mode, as it will be reported.
struct Result {
  Case test;
  std::string variant, source;
  Mode mode = Mode::fp32;
  std::string executed;  // "device", "host", "replay", "recorded"; "" if it did not run
  Evidence evidence;     // with the measurement
  Judgement judgement;
  std::string declared_plan;
  std::optional<bool>
      whole_output_replayed;  // a capture in windows: the plan gives the hash of the whole output
  std::optional<double> expected_max;
  std::string input_hash, output_hash;
  std::string reproduce;  // a command line
  LaunchNotes notes;
  nlohmann::json explanation;  // harness/ladder; null: none
  double device_ms = 0;
};

nlohmann::json to_json(const Result& result);  // a row of `results`; no times in it
nlohmann::json error_fields(const Measurement& m, const std::optional<Tolerance>& tolerance);

struct Record {
  nlohmann::json environment;
  std::vector<nlohmann::json> results;  // sorted by case, variant, mode
  std::vector<nlohmann::json> timings;  // {case, variant, mode, device_ms}, in the same order
  std::vector<nlohmann::json> cases;    // {case, input_hash, drift}: what results of a case share
};

/// Whether `cases` has an entry of these.
bool has_case(const Record& record, const nlohmann::json& name, const nlohmann::json& input_hash);

/// Sorts rows (each with its timing) into the record's order; of equal cases one stays.
void sort_record(Record& record);
std::string to_text(const Record& record);
void write_record(const std::string& path, const Record& record);  // beside, then renamed

/// Throws Error, one line, on anything but a record of this schema; `name` is what messages call it.
Record parse_record(std::string_view text, const std::string& name);
Record read_record(const std::string& path);

/// The exit code of a record: design, "Process exit".
int exit_code_of(const Record& record);

/// An environment without what tells equal devices of one host apart (numbers, names, which worker had
/// which), which may not change a result.
nlohmann::json without_places(const nlohmann::json& environment);

/// What of an environment must be the same for a finished piece of work to be used again: everything but the
/// command line, the time, the host's name and which of equal devices it was.
std::string environment_fingerprint(const nlohmann::json& environment);

}  // namespace ulpscope
