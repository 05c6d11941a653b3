// ulpscope invariance CASE: does a variant give the same bits again, in another batch, with zeros appended,
// in another layout, launched in another shape?
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/command_line.hpp"
#include "harness/commands.hpp"
#include "harness/commands/written_file.hpp"
#include "harness/environment.hpp"
#include "harness/invariance_runs.hpp"
#include "harness/io/atomic_file.hpp"
#include "harness/measure_strata.hpp"
#include "harness/probe/device_check.hpp"
#include "harness/record_batches.hpp"
#include "harness/run.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

struct Arguments {
  std::vector<std::string> cases, modes;
  std::string folder = "cases", json, record, device = "auto";
  double seconds = 0;
  RunOptions options;
};

struct Line {
  std::string test, variant;
  Mode mode;
  bool deterministic;
  InvarianceFinding finding;
  std::string error;  // the variant failed; then there is no finding

  // A spread that order cannot do (unless each run's plan was found: a library may take another arithmetic in
  // another layout), bits that differ where one plan was declared for all runs, or from run to run where no
  // variant may differ unless it says so.
  bool failed() const {
    const InvarianceReport& r = finding.report;
    if (!error.empty() || !finding.skipped.empty()) return false;
    const bool steady = finding.promised || (finding.circumstance == Circumstance::repeat && deterministic);
    return (r.beyond_order > 0 && !r.plans_account) || (steady && !r.same_bits);
  }
};

/// Whether the record, where there is one, holds a result of this job.
bool wanted(Record* record, const Case& test, const Job& job) {
  return !record || result_that_ran(*record, test, job.variant->name, job.mode);
}

nlohmann::json json_of(const Line& l) {
  const InvarianceReport& r = l.finding.report;
  nlohmann::json j{{"case", l.test}, {"variant", l.variant}, {"mode", to_string(l.mode)}};
  if (!l.error.empty()) {
    j["error"] = l.error;
    return j;
  }
  j["circumstance"] = to_string(l.finding.circumstance);
  if (!l.finding.skipped.empty()) {
    j["skipped"] = l.finding.skipped;
    return j;
  }
  j.update({{"runs", r.runs},
            {"labels", r.labels},
            {"outputs", r.outputs},
            {"differing", r.differing},
            {"same_bits", r.same_bits},
            {"spread", json_number(r.spread)},
            {"order_bound", json_number(r.order_bound)},
            {"beyond_order", r.beyond_order},
            {"race", r.race},
            {"plans", r.plans},
            {"promised", l.finding.promised},
            {"failed", l.failed()},
            {"sentence", r.sentence}});
  if (!l.finding.remark.empty()) j["not_tried"] = l.finding.remark;
  return j;
}

std::string row_of(const Line& l) {
  const InvarianceReport& r = l.finding.report;
  const std::string start = fmt::format("| {} | {} | {} | {} |", l.test, l.variant, to_string(l.mode),
                                        l.error.empty() ? to_string(l.finding.circumstance) : "");
  if (!l.error.empty()) return start + " | | | | error: " + l.error + " |\n";
  if (!l.finding.skipped.empty()) return start + " | | | | not applicable: " + l.finding.skipped + " |\n";
  std::string words = r.sentence;
  if (!l.finding.remark.empty()) words += " Not tried: " + l.finding.remark + ".";
  // A bar would end the cell.
  for (std::size_t at = 0; (at = words.find('|', at)) != std::string::npos; at += 2) words.insert(at, "\\");
  return start + fmt::format(" {} | {} | {:.3g} | {:.3g} | {} |\n", r.outputs, r.differing, r.spread,
                             r.order_bound, words);
}

struct Added {
  std::size_t identical = 0, not_applicable = 0;
};

/// Adds what was found to the results it is of; returns to how many, and what. A variant that failed found
/// nothing.
Added add_to(Record& record, const std::vector<Case>& cases, const nlohmann::json& all) {
  Added added;
  for (const Case& test : cases) {
    std::map<std::pair<std::string, std::string>, nlohmann::json> findings;
    for (nlohmann::json finding : all) {
      if (finding["case"] != test.name || !finding.contains("circumstance")) continue;
      nlohmann::json& list = findings[{finding["variant"], finding["mode"]}];
      for (const char* key : {"case", "variant", "mode"}) finding.erase(key);
      list.push_back(std::move(finding));
    }
    for (const auto& [of, list] : findings)
      if (nlohmann::json* row = result_that_ran(record, test, of.first, parse_mode(of.second))) {
        set_invariance(*row, list);
        added.identical += (*row)["batch_identical"].is_boolean();
        added.not_applicable += row->contains("batch_not_applicable");
      }
  }
  return added;
}

int run(Arguments& a) {
  std::optional<Record> record;
  if (!a.record.empty()) record = read_record(a.record);
  if (a.cases.empty() && !record)
    throw Error("say what to try: cases by name, glob, file or tag, or --record RECORD");
  for (const std::string& mode : a.modes) a.options.modes.push_back(parse_mode(mode));
  a.options.device = choice<DeviceChoice>(
      "--device", a.device,
      {{"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"cuda", DeviceChoice::cuda}});
  const std::vector<Case> cases = a.cases.empty() ? cases_that_ran(*record) : cases_named(a.cases, a.folder);
  if (cases.empty()) throw Error("'" + a.record + "' holds no result that ran: nothing can be tried again");
  check_selection(cases, a.options);
  std::string no_cuda, no_host;
  std::unique_ptr<Executor> host = make_executor(Where::host, no_host), cuda;
  if (a.options.device != DeviceChoice::cpu) cuda = make_executor(Where::cuda, no_cuda);
  if (a.options.device == DeviceChoice::cuda && !cuda) throw Error("--device cuda: " + no_cuda);
  if (record) {
    nlohmann::json here = describe_environment(command_line());
    if (cuda) note_device_arithmetic(here);
    check_same_environment(*record, a.record, here);
  }
  std::vector<Line> lines;
  std::string why;  // a job did not run
  for (const Case& test : cases) {
    const Inputs inputs = make_inputs(test, a.options.threads);
    for (const Job& job : jobs_of(test, a.options, no_cuda)) {
      if (!wanted(record ? &*record : nullptr, test, job)) continue;
      Executor* executor = job.variant->where == Where::cuda ? cuda.get() : host.get();
      if (!job.skip.empty() || !executor) {
        if (why.empty())
          why = job.variant->name + " in " + to_string(job.mode) + ": " +
                (job.skip.empty() ? "there is no device" : job.skip);
        continue;
      }
      const Line line{test.name, job.variant->name, job.mode, job.variant->deterministic, {}, ""};
      try {
        for (InvarianceFinding& f : try_circumstances(test, inputs, *job.variant, job.mode, *executor,
                                                      a.seconds, a.options.threads)) {
          lines.push_back(line);
          lines.back().finding = std::move(f);
        }
      } catch (const Error& e) {
        lines.push_back(line);
        lines.back().error = e.what();
      }
    }
  }
  if (lines.empty() && why.empty()) why = "'" + a.record + "' holds no result of what was selected";
  std::string text =
      "| case | variant | mode | varied | outputs | differing | spread | order can do | |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  nlohmann::json all = nlohmann::json::array();
  bool failed = false, error = false;
  for (const Line& l : lines) {
    text += row_of(l);
    all.push_back(json_of(l));
    failed = failed || l.failed();
    error = error || !l.error.empty();
  }
  if (lines.empty()) text = "NOT VERIFIED: no selected variant can run here (" + why + ")\n";
  std::fputs(text.c_str(), stdout);
  if (!a.json.empty())
    write_text(a.json, nlohmann::json{{"schema", "ulpscope.invariance/1"}, {"results", all}}.dump(2) + "\n");
  if (record && !lines.empty()) {
    const Added added = add_to(*record, cases, all);
    write_record(a.record, *record);
    std::printf("record: %s (results with batch_identical added: %zu; with batch_not_applicable: %zu)\n",
                a.record.c_str(), added.identical, added.not_applicable);
  }
  return error ? 2 : failed ? 1 : lines.empty() ? 3 : 0;
}

const RegisterCommand registered{
    5, [](CLI::App& app, int& exit_code) {
      auto a = std::make_shared<Arguments>();
      CLI::App* command = app.add_subcommand(
          "invariance", "Run variants again, in other batches, layouts and launch shapes: the same bits?");
      command->add_option("CASE", a->cases,
                          "Cases by name, glob, file or tag, or a case's text; default: those of --record");
      command->add_option(
          "--record", a->record,
          "Try this record's results again, where it was made, and add batch_identical to them, which "
          "budgets may demand, or why it is not applicable");
      command->add_option("--variant", a->options.variants, "Only variants of these names (globs)");
      command->add_option("--mode", a->modes, "Only these modes: fp32, tf32, strict, bf16, fp16");
      command->add_option("--device", a->device, "auto, cpu or cuda (default auto)");
      command->add_option("--seconds", a->seconds,
                          "Where bits differ, search for each run's plan this long (default 0: don't)");
      command->add_option("--threads", a->options.threads, "Host threads (default: all cores)")
          ->check(CLI::Range(1, 4096));
      command->add_option("--json", a->json, "Write the findings here")->check(written_file());
      command->add_option("--cases", a->folder, "Folder or file of cases (default: cases)");
      command->callback([a, &exit_code] { exit_code = run(*a); });
    }};

}  // namespace
}  // namespace ulpscope
