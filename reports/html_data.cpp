#include "reports/html_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/json_fields.hpp"
#include "reports/why.hpp"
#include "reports/words.hpp"

namespace ulpscope::html {
namespace {

using nlohmann::json;

json number(const std::optional<double>& x) {
  if (!x) return nullptr;
  if (std::isnan(*x)) return "nan";
  if (std::isinf(*x)) return *x > 0 ? "inf" : "-inf";
  return *x;
}

/// Four digits: for what is only drawn.
json drawn(double x) {
  return std::isfinite(x) ? json(std::stod(fmt::format("{:.4g}", x))) : number(x);
}

json drawn(const std::vector<double>& list) {
  json out = json::array();
  for (const double x : list) out.push_back(drawn(x));
  return out;
}

json truth(const std::optional<bool>& x) {
  return x ? json(*x) : json();
}

const char* word(Standing s) {
  switch (s) {
    case Standing::pass:
      return "pass";
    case Standing::fail:
      return "fail";
    case Standing::vacuous:
      return "vacuous";
    case Standing::unverified:
      return "unverified";
    case Standing::excused:
      return "excused";
    case Standing::skip:
      return "skip";
    case Standing::error:
      break;
  }
  return "error";
}

void add_error(json& row, const ResultView& r) {
  static const ErrorView none;
  const ErrorView& e = r.error ? *r.error : none;
  row["max_abs"] = number(e.max_abs);
  row["mean_abs"] = number(e.mean_abs);
  row["mean_signed"] = number(e.mean_signed);
  row["max_ulp"] = number(e.max_ulp);
  row["p50_ulp"] = number(e.p50_ulp);
  row["p99_ulp"] = number(e.p99_ulp);
  row["p999_ulp"] = number(e.p999_ulp);
  row["max_scaled"] = number(e.max_scaled);
  row["headroom"] = number(e.headroom);
  row["equal_bits"] = e.equal_bits;
  row["nonfinite"] = e.nonfinite;
  row["nonfinite_mismatch"] = e.nonfinite_mismatch;
  row["atol"] = number(e.violations ? e.atol : std::nullopt);
  row["rtol"] = number(e.rtol);
  row["violations"] = e.violations.value_or(0);
  row["worst"] = nullptr;
  if (e.worst) {
    const ErrorView::Worst& w = *e.worst;
    row["worst"] = {{"index", w.index},
                    {"coordinates", w.coordinates},
                    {"candidate", number(w.candidate)},
                    {"exact", number(w.exact)},
                    {"error", number(w.error)},
                    {"ulp", number(w.ulp)},
                    {"magnitude", number(w.magnitude)},
                    {"condition", number(w.condition)},
                    {"terms", w.terms}};
  }
  json& bins = row["ulp_histogram"] = json::array();
  for (const ErrorView::Bin& bin : e.ulp_histogram)
    bins.push_back(json::array({drawn(bin.up_to), bin.outputs}));
  json& terms = row["terms"] = json::array();
  for (const ErrorView::Terms& t : e.by_terms)
    terms.push_back(json::array({t.terms, t.outputs, drawn(t.max_scaled.value_or(0))}));
  row["channels_per_group"] = e.channels_per_group;
  row["channel"] = drawn(e.channel_max_scaled);
  row["position"] = drawn(e.position_max_scaled);
}

json row_of(const ResultView& r) {
  json row{{"case", r.test},
           {"case_text", r.case_text},
           {"variant", r.variant},
           {"source", r.source},
           {"mode", r.mode},
           {"effective_mode", r.effective_mode},
           {"executed", r.executed},
           {"verdict", to_string(r.verdict)},
           {"standing", word(standing(r))},
           {"reason", reason_of(r)},
           {"outputs", r.outputs},
           {"judged_outputs", r.judged_outputs},
           {"declared_plan", r.declared_plan},
           {"plan", r.plan},
           {"operands", r.operands},
           {"bit_identical", number(r.bit_identical)},
           {"replayed_outputs", r.replayed_outputs},
           {"whole_output_replayed", truth(r.whole_output_replayed)},
           {"runs_identical", truth(r.runs_identical)},
           {"runs_differing", r.runs_differing},
           {"bound", number(r.bound)},
           {"expected_max", number(r.expected_max)},
           {"bound_formula", r.bound_formula},
           {"input_hash", r.input_hash},
           {"output_hash", r.output_hash},
           {"engine", r.engine},
           {"notes", r.notes},
           {"device_ms", number(r.device_ms)},
           {"reproduce", r.reproduce}};
  add_error(row, r);
  return row;
}

json numbers_of(const Fields& f, std::initializer_list<const char*> names) {
  json out = json::object();
  for (const char* name : names) out[name] = number(f.number(name));
  return out;
}

json ladder_of(const Fields& f) {
  json rungs = json::array();
  for (const Fields& rung : f.objects("ladder")) {
    json one = numbers_of(rung, {"max_residual", "mean_residual", "equal_bits"});
    one["rung"] = rung.text("rung");
    one["status"] = rung.text("status");
    one["note"] = rung.text("note");
    rungs.push_back(one);
  }
  return rungs;
}

json side_of(const Fields& f, const char* who) {
  json side =
      numbers_of(f, {"max_abs", "mean_abs", "mean_signed", "p50_ulp", "p999_ulp", "bound", "headroom"});
  side["who"] = who;
  for (const char* name : {"verdict", "why", "plan", "operands"}) side[name] = f.text(name);
  side["ladder"] = ladder_of(f);
  return side;
}

json explanation_of(const HtmlExtras::Document& document) {
  const json whole = parse_document(document.text, document.name, "ulpscope.explain/1");
  const Fields f(whole, document.name);
  json e{{"name", document.name},
         {"cause", f.needed_text("cause")},
         {"summary", f.needed_text("summary")},
         {"outputs", f.count_or_0("outputs")},
         {"ladder", ladder_of(f)},
         {"pair", nullptr},
         {"trees", nullptr},
         {"sides", json::array()}};
  if (const auto pair = f.object("pair")) {
    e["pair"] = numbers_of(*pair, {"max_abs", "mean_abs", "atol", "rtol"});
    e["pair"]["violations"] = pair->count_or_0("violations");
  }
  if (const auto side = f.object("candidate")) e["sides"].push_back(side_of(*side, "Candidate"));
  if (const auto side = f.object("reference")) e["sides"].push_back(side_of(*side, "Reference"));
  if (const auto trees = f.object("trees")) {
    e["trees"] = json::object();
    for (const char* name : {"terms", "candidate", "reference", "difference"})
      e["trees"][name] = trees->text(name);
  }
  return e;
}

json drift_of(const Fields& f, const std::string& test) {
  json c{{"case", test},
         {"summary", f.text("summary")},
         {"looked_at", f.count_or_0("looked_at")},
         {"rows", json::array()},
         {"spreads", json::array()}};
  for (const Fields& row : f.objects("rows")) {
    json one = numbers_of(row, {"max_abs", "mean_abs", "mean_signed", "bound", "from_first"});
    one["arithmetic"] = row.text("arithmetic");
    one["plan"] = row.text("plan");
    c["rows"].push_back(one);
  }
  for (const Fields& spread : f.objects("spreads")) {
    json one = numbers_of(spread, {"observed", "bound"});
    one["arithmetic"] = spread.text("arithmetic");
    one["orders"] = spread.count_or_0("orders");
    c["spreads"].push_back(one);
  }
  return c;
}

/// Drift that the record holds, and that documents bring for cases it lacks it of: each once, and which
/// result shows which. A document's cases that no result has get sections of their own.
void add_drifts(json& data, const RecordView& record, const HtmlExtras& extras) {
  std::map<std::pair<std::string, std::string>, std::size_t> of_inputs;
  std::map<std::string, std::size_t> of_case;
  for (const Fields& c : Fields(*record.raw, record.name).objects("cases"))
    if (const auto drift = c.object("drift")) {
      of_inputs[{c.needed_text("case"), c.text("input_hash")}] = data["case_drifts"].size();
      data["case_drifts"].push_back(drift_of(*drift, c.text("case")));
    }
  for (const HtmlExtras::Document& document : extras.drifts) {
    const json whole = parse_document(document.text, document.name, "ulpscope.drift/1");
    for (const Fields& c : Fields(whole, document.name).objects("cases")) {
      const std::string test = c.needed_text("case");
      const bool shown = std::any_of(record.results.begin(), record.results.end(), [&](const ResultView& r) {
        return r.test == test && !of_inputs.contains({test, r.input_hash});
      });
      if (!shown) {
        data["drifts"].push_back(drift_of(c, test));
        continue;
      }
      of_case[test] = data["case_drifts"].size();
      data["case_drifts"].push_back(drift_of(c, test));
    }
  }
  for (std::size_t i = 0; i < record.results.size(); ++i) {
    const ResultView& r = record.results[i];
    const auto exact = of_inputs.find({r.test, r.input_hash});
    const auto given = of_case.find(r.test);
    json& index = data["results"][i]["drift"] = nullptr;
    if (exact != of_inputs.end())
      index = exact->second;
    else if (given != of_case.end())
      index = given->second;
  }
}

json self_test_of(const HtmlExtras::Document& document) {
  const json whole = parse_document(document.text, document.name, "ulpscope.self-test/1");
  const Fields f(whole, document.name);
  json out{{"name", document.name}, {"outcomes", json::array()}};
  for (const char* name : {"planted", "caught", "controls", "quiet"}) out[name] = f.count_or_0(name);
  for (const Fields& o : f.objects("outcomes"))
    out["outcomes"].push_back(
        json::array({o.text("area"), o.text("mistake"), o.text("by"), o.truth("control").value_or(false),
                     o.truth("good").value_or(false)}));
  return out;
}

}  // namespace

json page_data(const RecordView& record, const HtmlExtras& extras) {
  json data;
  for (const char* list :
       {"results", "tally", "environment", "explanations", "drifts", "case_drifts", "self_tests"})
    data[list] = json::array();
  std::map<std::pair<std::string, std::string>, std::int64_t> tally;
  for (const ResultView& r : record.results) {
    data["results"].push_back(row_of(r));
    const Standing s = standing(r);
    const std::string verdict = s == Standing::unverified ? "unverified"
                                : s == Standing::excused  ? "nondeterministic as declared"
                                                          : to_string(r.verdict);
    ++tally[{verdict, word(s)}];
  }
  for (const auto& [key, n] : tally) data["tally"].push_back(json::array({key.first, key.second, n}));
  for (const auto& [what, value] : environment_lines(record.environment))
    data["environment"].push_back(json::array({what, value}));
  for (const HtmlExtras::Document& document : extras.explanations)
    data["explanations"].push_back(explanation_of(document));
  Whys whys = whys_of(record);
  data["trees"] = std::move(whys.trees);
  for (std::size_t i = 0; i < record.results.size(); ++i) {
    json& explained = data["results"][i]["explained"] = std::move(whys.results[i]);
    const Fields row(record.raw->at("results")[i], record.name + ": " + record.results[i].key());
    const auto explanation = row.object("explanation");
    const auto device = row.object("captured_on");
    data["results"][i]["captured_on"] = device ? device->text("name") : "";
    if (explained.is_object()) explained["ladder"] = explanation ? ladder_of(*explanation) : json::array();
  }
  add_drifts(data, record, extras);
  for (const HtmlExtras::Document& document : extras.self_tests)
    data["self_tests"].push_back(self_test_of(document));
  return data;
}

}  // namespace ulpscope::html
