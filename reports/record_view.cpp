#include "reports/record_view.hpp"

#include <nlohmann/json.hpp>
#include <tuple>

#include "harness/io/bytes.hpp"
#include "reference/counted.hpp"
#include "reference/error.hpp"
#include "reports/json_fields.hpp"

namespace ulpscope {
namespace {

ErrorView::Worst worst_of(const Fields& f) {
  ErrorView::Worst w;
  w.index = f.count_or_0("index");
  w.terms = f.count_or_0("terms");
  for (const double x : f.numbers("coordinates")) w.coordinates.push_back(static_cast<std::int64_t>(x));
  w.candidate = f.number("candidate");
  w.exact = f.number("exact");
  w.error = f.number("error");
  w.ulp = f.number("ulp");
  w.magnitude = f.number("magnitude");
  w.condition = f.number("condition");
  return w;
}

void take_strata(const Fields& f, ErrorView& e) {
  for (const Fields& t : f.objects("terms"))
    e.by_terms.push_back(
        {t.count_or_0("terms"), t.count_or_0("outputs"), t.number("max_abs"), t.number("max_scaled")});
  if (const auto channel = f.object("channel")) {
    e.channels_per_group = channel->count_or_0("channels_per_group");
    e.channel_max_abs = channel->numbers("max_abs");
    e.channel_max_scaled = channel->numbers("max_scaled");
  }
  if (const auto position = f.object("position")) e.position_max_scaled = position->numbers("max_scaled");
}

ErrorView error_of(const Fields& f) {
  ErrorView e;
  e.max_abs = f.number("max_abs");
  e.mean_abs = f.number("mean_abs");
  e.mean_signed = f.number("mean_signed");
  e.max_ulp = f.number("max_ulp");
  e.p50_ulp = f.number("p50_ulp");
  e.p99_ulp = f.number("p99_ulp");
  e.p999_ulp = f.number("p999_ulp");
  e.max_scaled = f.number("max_scaled");
  e.headroom = f.number("headroom");
  e.beyond_bound = f.count_or_0("beyond_bound");
  e.unbounded = f.count_or_0("unbounded");
  e.equal_bits = f.count_or_0("equal_bits");
  e.nonfinite = f.count_or_0("nonfinite");
  e.nonfinite_mismatch = f.count_or_0("nonfinite_mismatch");
  e.zero_sign_mismatch = f.count_or_0("zero_sign_mismatch");
  e.violations = f.count("violations");
  e.atol = f.number("atol");
  e.rtol = f.number("rtol");
  if (const auto worst = f.object("worst")) e.worst = worst_of(*worst);
  for (const Fields& bin : f.objects("ulp_histogram"))
    e.ulp_histogram.push_back({bin.number("up_to").value_or(0), bin.count_or_0("outputs")});
  if (const auto strata = f.object("strata")) take_strata(*strata, e);
  return e;
}

ResultView result_of(const Fields& f) {
  ResultView r;
  r.test = f.needed_text("case");
  r.variant = f.needed_text("variant");
  r.mode = f.needed_text("mode");
  r.case_text = f.text("case_text");
  r.op = f.text("op");
  r.source = f.text("source");
  r.effective_mode = f.text("effective_mode");
  r.executed = f.text("executed");
  const std::string verdict = f.needed_text("verdict");
  try {
    r.verdict = parse_verdict(verdict);
  } catch (const Error& e) {
    throw Error(f.where() + ": " + e.what());
  }
  r.reason = f.text("reason");
  r.excused = f.truth("excused").value_or(false);
  r.outputs = f.count_or_0("outputs");
  r.judged_outputs = f.count_or_0("judged_outputs");
  r.declared_plan = f.text("declared_plan");
  r.plan = f.text("plan");
  r.operands = f.text("operands");
  r.bit_identical = f.number("bit_identical");
  r.replayed_outputs = f.count_or_0("replayed_outputs");
  r.whole_output_replayed = f.truth("whole_output_replayed");
  r.runs_identical = f.truth("runs_identical");
  r.batch_identical = f.truth("batch_identical");
  r.batch_not_applicable = f.text("batch_not_applicable");
  r.runs_differing = f.count_or_0("runs_differing");
  if (const auto error = f.object("error")) r.error = error_of(*error);
  r.bound = f.number("bound");
  r.expected_max = f.number("expected_max");
  r.bound_formula = f.text("bound_formula");
  r.input_hash = f.text("input_hash");
  r.output_hash = f.text("output_hash");
  r.engine = f.text("engine");
  r.notes = f.texts("notes");
  r.workspace_bytes = f.count_or_0("workspace_bytes");
  r.reproduce = f.text("reproduce");
  return r;
}

/// Texts as they are, anything else as JSON text.
std::map<std::string, std::string> words_of(const Fields& f) {
  std::map<std::string, std::string> map;
  for (const auto& [key, value] : f.raw().items())
    map[key] = value.is_string() ? value.get<std::string>() : value.dump();
  return map;
}

/// Who did the work, where that was more than one device or process.
std::vector<EnvironmentView::Part> parts_of(const Fields& f) {
  std::vector<EnvironmentView::Part> parts;
  for (const Fields& gpu : f.objects("devices")) {
    std::string what = gpu.text("name");
    for (const char* key : {"uuid", "host"})
      if (gpu.has(key)) what += ", " + gpu.text(key);
    if (gpu.truth("arithmetic_agrees") == false)
      what += ", arithmetic unlike the table: " + gpu.text("arithmetic_reason");
    parts.push_back({"GPU " + std::to_string(gpu.count_or_0("index")), what});
  }
  for (const Fields& worker : f.objects("workers")) {
    std::string what =
        counted(worker.count_or_0("cases"), "case") + ", " + counted(worker.count_or_0("threads"), "thread");
    if (worker.count_or_0("started") > 1)
      what += ", started " + std::to_string(worker.count_or_0("started")) + " times";
    if (worker.has("gone")) what += ", given up: " + worker.text("gone");
    parts.push_back({"worker " + worker.text("name"), what});
  }
  if (const auto merged = f.object("merged")) {
    std::string what = counted(merged->count_or_0("records"), "record");
    for (const nlohmann::json& host : merged->raw().value("hosts", nlohmann::json::array()))
      if (host.is_string()) what += ", " + host.get<std::string>();  // null: a record that names none
    parts.push_back({"merged", what});
  }
  return parts;
}

EnvironmentView environment_of(const Fields& f) {
  EnvironmentView e;
  e.version = f.text("version");
  e.commit = f.text("commit");
  e.started = f.text("started");
  e.dirty = f.truth("dirty").value_or(false);
  e.argv = f.texts("argv");
  if (const auto host = f.object("host")) {
    e.host = host->text("name");
    e.cpu = host->text("cpu");
    e.os = host->text("os");
  }
  if (const auto build = f.object("build")) e.compiler = build->text("compiler");
  if (const auto device = f.object("device")) {
    e.device = device->text("name");
    e.device_missing = device->text("reason");
    e.compute_capability = device->text("compute_capability");
  }
  e.parts = parts_of(f);
  if (const auto libraries = f.object("libraries")) e.libraries = words_of(*libraries);
  if (const auto variables = f.object("variables")) e.variables = words_of(*variables);
  return e;
}

}  // namespace

const std::vector<JsonPlace>& explaining_places() {
  static const std::vector<JsonPlace> places{{"cases"}, {"results", "", "explanation"}};
  return places;
}

RecordView parse_record_view(std::string_view text, const std::string& name,
                             const std::vector<JsonPlace>& unread) {
  RecordView record;
  record.name = name;
  const auto raw =
      std::make_shared<const nlohmann::json>(parse_document(text, name, "ulpscope.run/1", unread));
  const Fields f(*raw, name);
  const auto environment = f.object("environment");
  if (!environment) throw Error(name + ": 'environment' must be there: write the record again");
  record.environment = environment_of(*environment);
  if (!f.has("results")) throw Error(name + ": 'results' must be there: write the record again");
  const std::vector<Fields> rows = f.objects("results");
  record.results.reserve(rows.size());
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> at;
  for (const Fields& row : rows) {
    ResultView result = result_of(row);
    if (!at.try_emplace({result.test, result.variant, result.mode}, record.results.size()).second)
      throw Error(name + ": there are two results of " + result.key() + ": write the record again");
    record.results.push_back(std::move(result));
  }
  for (const Fields& t : f.objects("timings")) {
    const auto found = at.find({t.needed_text("case"), t.needed_text("variant"), t.needed_text("mode")});
    if (found != at.end()) record.results[found->second].device_ms = t.number("device_ms");
  }
  record.raw = raw;
  return record;
}

RecordView read_record_view(const std::string& path, const std::vector<JsonPlace>& unread) {
  const Bytes file = map_file(path);
  return parse_record_view(file.text(), path, unread);
}

bool fails(const ResultView& r) {
  switch (r.verdict) {
    case Verdict::violated:
    case Verdict::structural:
    case Verdict::unexplained:
    case Verdict::error:
      return true;
    case Verdict::nondeterministic:
      return !r.excused;
    default:
      return false;
  }
}

VerdictTally tally(const RecordView& record) {
  VerdictTally t;
  ExitTally exit;
  for (const ResultView& r : record.results) {
    ++t.by_verdict[static_cast<std::size_t>(r.verdict)];
    t.excused += r.verdict == Verdict::nondeterministic && r.excused;
    exit.add(r.verdict, r.excused);
  }
  t.passed = exit.passed;
  t.failed = exit.failed;
  t.neither = exit.neither;
  t.errors = exit.errors;
  t.exit_code = exit.exit_code();
  return t;
}

}  // namespace ulpscope
