#include "harness/selection.hpp"

#include <fmt/format.h>

#include <filesystem>

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

}  // namespace

Record run_selection(const Selection& selection, const RunOptions& options) {
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
  for (std::size_t i = 1; i < record.results.size(); ++i) {
    const auto &x = record.results[i - 1], &y = record.results[i];
    if (x["case"] == y["case"] && x["variant"] == y["variant"] && x["mode"] == y["mode"])
      throw Error("two results of " + y["case"].get<std::string>() + " " + y["variant"].get<std::string>() +
                  " " + y["mode"].get<std::string>() + ": a capture repeats what is run, or is given twice");
  }
  return record;
}

}  // namespace ulpscope
