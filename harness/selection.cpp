#include "harness/selection.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <map>

#include "harness/capture.hpp"
#include "harness/drift_json.hpp"
#include "harness/environment.hpp"
#include "harness/inputs.hpp"
#include "harness/judge_capture.hpp"
#include "harness/suite.hpp"
#include "reference/counted.hpp"
#include "reference/error.hpp"

namespace ulpscope {

Selection dealt(const Shard& shard, const Selection& all) {
  Selection mine{dealt(shard, all.cases), dealt(shard, all.captures), dealt(shard, all.drift)};
  if (mine.size() == 0)
    throw Error(fmt::format("--shard {}/{} has nothing to do: {} and {} are selected, use fewer shards",
                            shard.index, shard.of,
                            counted(static_cast<std::int64_t>(all.cases.size()), "case"),
                            counted(static_cast<std::int64_t>(all.captures.size()), "capture")));
  return mine;
}

nlohmann::json shard_note(const Shard& shard, const Selection& all,
                          const std::vector<std::string>& settings) {
  std::string text;
  for (const auto* cases : {&all.cases, &all.drift})
    for (const Case& c : *cases) {
      text += c.name + "\n" + to_string(c) + "\n";
      for (const std::string& pattern : c.variants) text += pattern + "\n";
    }
  for (const std::string& path : all.captures) text += std::filesystem::path(path).filename().string() + "\n";
  for (const std::string& setting : settings) text += setting + "\n";
  return {{"index", shard.index},
          {"of", shard.of},
          {"cases", all.size()},
          {"selection", hash_bytes(text.data(), text.size(), 1)}};
}

namespace {

/// Drift of every case that ran: from what the rows say, so that a run which went on where another stopped
/// has it, too.
void add_drift(Record& record, const std::vector<Case>& cases, const RunOptions& options) {
  for (const Case& test : cases)
    for (const nlohmann::json& row : record.results) {
      if (row["case"] != test.name || row["input_hash"].is_null() ||
          has_case(record, row["case"], row["input_hash"]))
        continue;
      if (options.progress) options.progress(test.name + ": replaying orders");
      record.cases.push_back({{"case", test.name},
                              {"input_hash", row["input_hash"]},
                              {"drift", drift_of_case(test, options.threads)}});
    }
}

using Key = std::array<std::string, 3>;  // case, variant, mode

}  // namespace

// Before any worker is started: nothing here may start a device (wanted_jobs).
void check_repeats(const Selection& selection, const RunOptions& options) {
  if (selection.captures.empty()) return;
  std::map<Key, std::string> results;
  for (const Case& test : selection.cases)
    for (const Job& job : wanted_jobs(test, options))
      results[{test.name, job.variant->name, to_string(job.mode)}] = "this run";
  for (const std::string& path : capture_paths(selection.captures)) {
    const Capture capture = read_capture(path);
    const Key key{capture.test.name, capture.variant, to_string(capture.mode)};
    const auto [at, fresh] = results.insert({key, "'" + path + "'"});
    if (!fresh)
      throw Error("'" + path + "' is a second result of " + key[0] + " " + key[1] + " " + key[2] +
                  ", after " + at->second + ": leave one of them out");
  }
}

Record run_selection(const Selection& selection, const RunOptions& options) {
  check_repeats(selection, options);
  Record record;
  if (!selection.cases.empty())
    record = run_cases(selection.cases, options);
  else
    record.environment = describe_environment(options.argv);
  if (options.explain) add_drift(record, selection.cases, options);
  if (!selection.captures.empty()) {
    const ReplayChoice replay = options.replay == ReplayChoice::none ? ReplayChoice::none : ReplayChoice::all;
    Record judged = judge_captures(selection.captures, replay, options.threads, options.argv,
                                   options.progress, options.explain);
    for (auto& row : judged.results) record.results.push_back(std::move(row));
    for (auto& row : judged.timings) record.timings.push_back(std::move(row));
    for (auto& c : judged.cases) record.cases.push_back(std::move(c));
  }
  for (const Case& test : selection.drift) {
    if (options.progress) options.progress(test.name + ": replaying orders");
    const Result r = judge_drift(test, options.threads);
    record.results.push_back(to_json(r));
    record.timings.push_back(
        {{"case", test.name}, {"variant", r.variant}, {"mode", to_string(r.mode)}, {"device_ms", 0}});
  }
  sort_record(record);
  return record;
}

}  // namespace ulpscope
