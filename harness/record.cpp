#include "harness/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "harness/io/atomic_file.hpp"
#include "harness/io/bytes.hpp"
#include "harness/io/read_json.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;
constexpr const char* kSchema = "ulpscope.run/1";

json or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}

json worst_of(const Measurement::Worst& w) {
  if (w.index < 0) return nullptr;
  return {{"index", w.index},
          {"coordinates", w.coordinates},
          {"candidate", json_number(w.candidate)},
          {"exact", json_number(w.exact)},
          {"error", json_number(w.error)},
          {"ulp", json_number(w.ulp)},
          {"magnitude", json_number(w.magnitude)},
          {"condition", json_number(w.condition)},
          {"terms", w.terms}};
}

std::tuple<std::string, std::string, std::string> key_of(const json& row) {
  return {row.at("case").get<std::string>(), row.at("variant").get<std::string>(),
          row.at("mode").get<std::string>()};
}

}  // namespace

json error_fields(const Measurement& m, const std::optional<Tolerance>& tolerance) {
  json fields = figures_of(m);
  fields.update({{"unbounded", m.unbounded},
                 {"equal_bits", m.equal_bits},
                 {"zero_sign_mismatch", m.zero_sign_mismatch},
                 {"worst", worst_of(m.worst)},
                 {"ulp_histogram", m.ulp_histogram}});
  fields["violations"] = tolerance ? json(m.violations) : json();
  if (tolerance) {
    fields["atol"] = tolerance->atol;
    fields["rtol"] = tolerance->rtol;
  }
  return fields;
}

json to_json(const Result& r) {
  const Evidence& e = r.evidence;
  json row{{"case", r.test.name},
           {"case_text", to_string(r.test)},
           {"op", r.test.problem.params.op},
           {"variant", r.variant},
           {"source", r.source},
           {"mode", to_string(r.mode)},
           {"effective_mode", or_null(e.effective_mode)},
           {"sums_of_ones", to_json(e.ones)},
           {"executed", or_null(r.executed)},
           {"outputs", e.outputs},
           {"judged_outputs", e.measured ? e.measured->outputs : 0},
           {"verdict", to_string(r.judgement.verdict)},
           {"reason", r.judgement.reason},
           {"excused", r.judgement.excused},
           {"declared_plan", or_null(r.declared_plan)},
           {"whole_output_replayed", r.whole_output_replayed ? json(*r.whole_output_replayed) : json()},
           {"plan", nullptr},
           {"bit_identical", nullptr},
           {"operands", nullptr},
           {"runs_identical", nullptr},
           {"runs_differing", e.differing},
           {"error", nullptr},
           {"bound", nullptr},
           {"bound_formula", or_null(e.bound_formula)},
           {"expected_max", nullptr},
           {"input_hash", or_null(r.input_hash)},
           {"output_hash", or_null(r.output_hash)},
           {"engine", or_null(r.notes.engine)},
           {"notes", r.notes.notes},
           {"workspace_bytes", r.notes.workspace_bytes},
           {"reproduce", r.reproduce}};
  if (!r.explanation.is_null()) row["explanation"] = r.explanation;
  if (r.expected_max) row["expected_max"] = json_number(*r.expected_max);
  if (e.measured) {
    row["runs_identical"] = e.differing == 0;
    row["error"] = error_fields(*e.measured, r.test.tolerance);
    row["bound"] = json_number(e.measured->bound);
  }
  if (e.replay && e.replay->compared > 0) {
    const bool all = e.replay->compared == e.replay->equal;
    row["bit_identical"] = static_cast<double>(e.replay->equal) / static_cast<double>(e.replay->compared);
    row["replayed_outputs"] = e.replay->compared;
    if (all) {
      row["plan"] = e.replay->plan;
      row["operands"] = e.replay->plan.substr(0, e.replay->plan.find(" |"));
    }
  }
  return row;
}

void sort_record(Record& record) {
  auto sort = [](std::vector<json>& rows) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const json& x, const json& y) { return key_of(x) < key_of(y); });
  };
  sort(record.results);
  sort(record.timings);
  const auto key = [](const json& c) { return std::pair(c.at("case"), c.at("input_hash")); };
  std::stable_sort(record.cases.begin(), record.cases.end(),
                   [&](const json& x, const json& y) { return key(x) < key(y); });
  const auto equal = [&](const json& x, const json& y) { return key(x) == key(y); };
  record.cases.erase(std::unique(record.cases.begin(), record.cases.end(), equal), record.cases.end());
}

bool has_case(const Record& record, const json& name, const json& input_hash) {
  return std::any_of(record.cases.begin(), record.cases.end(),
                     [&](const json& c) { return c.at("case") == name && c.at("input_hash") == input_hash; });
}

std::string to_text(const Record& record) {
  json whole{{"schema", kSchema},
             {"environment", record.environment},
             {"results", record.results},
             {"timings", record.timings}};
  if (!record.cases.empty()) whole["cases"] = record.cases;
  return whole.dump(1) + "\n";
}

void write_record(const std::string& path, const Record& record) {
  write_text(path, to_text(record));
}

Record parse_record(std::string_view text, const std::string& name) {
  auto refuse = [&](const std::string& why) -> Error {
    return Error("'" + name + "' is no usable record: " + why);
  };
  json whole;
  try {
    whole = read_json(text);
  } catch (const Error& e) {
    throw refuse(e.what());
  }
  if (!whole.is_object() || !whole.contains("schema")) throw refuse("it has no 'schema'");
  if (whole["schema"] != kSchema)
    throw refuse(std::string("its schema is not ") + kSchema + ": write it again with this version");
  Record record;
  auto rows = [&](const char* key, bool required) {
    if (!whole.contains(key) && !required) return std::vector<json>{};
    if (!whole.contains(key) || !whole[key].is_array())
      throw refuse(std::string("'") + key + "' must be a list");
    for (const json& row : whole[key])
      for (const char* field : {"case", "variant", "mode"})
        if (!row.is_object() || !row.contains(field) || !row[field].is_string())
          throw refuse(std::string("an entry of '") + key + "' lacks the text '" + field + "'");
    return whole[key].get<std::vector<json>>();
  };
  if (!whole.contains("environment") || !whole["environment"].is_object())
    throw refuse("'environment' must be an object");
  record.environment = whole["environment"];
  record.results = rows("results", true);
  record.timings = rows("timings", false);
  if (whole.contains("cases") && !whole["cases"].is_array()) throw refuse("'cases' must be a list");
  for (const json& c : whole.value("cases", json::array())) {
    if (!c.is_object() || !c.contains("case") || !c["case"].is_string() || !c.contains("input_hash"))
      throw refuse("an entry of 'cases' lacks 'case' or 'input_hash'");
    record.cases.push_back(c);
  }
  for (const json& row : record.results) {
    if (!row.contains("verdict") || !row["verdict"].is_string()) throw refuse("a result lacks its 'verdict'");
    try {
      parse_verdict(row["verdict"].get<std::string>());
    } catch (const Error& e) {
      throw refuse(e.what());
    }
    if (row.contains("excused") && !row["excused"].is_boolean())
      throw refuse("'excused' must be true or false");
    if (row.contains("error") && !row["error"].is_null() && !row["error"].is_object())
      throw refuse("'error' of a result must be an object or null");
  }
  return record;
}

Record read_record(const std::string& path) {
  const Bytes file = map_file(path);
  return parse_record(file.text(), path);
}

int exit_code_of(const Record& record) {
  ExitTally tally;
  for (const json& row : record.results)
    tally.add(parse_verdict(row["verdict"].get<std::string>()), row.value("excused", false));
  return tally.exit_code();
}

json without_places(const json& environment) {
  json kept = environment;
  for (const char* key : {"devices", "workers"}) kept.erase(key);
  if (kept.contains("device") && kept["device"].is_object())
    for (const char* key : {"index", "uuid", "pci"}) kept["device"].erase(key);
  if (kept.contains("variables") && kept["variables"].is_object())
    for (const char* key : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "ULPSCOPE_HOST"})
      kept["variables"].erase(key);
  return kept;
}

std::string environment_fingerprint(const json& environment) {
  json kept = without_places(environment);
  for (const char* key : {"argv", "started"}) kept.erase(key);
  if (kept.contains("host") && kept["host"].is_object()) kept["host"].erase("name");
  return kept.dump();
}

}  // namespace ulpscope
