// ulpscope gate RECORD: compare with budgets and a baseline.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/commands.hpp"
#include "harness/commands/written_file.hpp"
#include "harness/io/atomic_file.hpp"
#include "reference/error.hpp"
#include "reports/gate.hpp"

namespace ulpscope {
namespace {

struct Arguments {
  std::string record, baseline, json, gitlab;
  std::vector<std::string> budgets, propose;
  bool github = false;
};

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

/// A proposal never replaces a file: it might be the one in use.
void write_new(const std::string& path, const std::string& text) {
  std::error_code unreadable;
  if (std::filesystem::exists(path, unreadable))
    throw Error("'" + path +
                "' exists already: a proposal is written beside what is in use; name another file");
  write_text(path, text);
  std::printf("proposed: %s (review it, then put it in place of the old one)\n", path.c_str());
}

/// GitHub takes 1 MiB per step in this file, whatever wrote there before.
void add_step_summary(const GateReport& report) {
  const char* path = std::getenv("GITHUB_STEP_SUMMARY");
  if (!path || !*path) return;
  std::error_code missing;
  const auto before = std::filesystem::file_size(path, missing);
  constexpr std::size_t kMost = 1000 * 1000;
  const std::size_t used = missing ? 0 : static_cast<std::size_t>(before);
  if (used + 2000 > kMost) return;
  std::ofstream out(path, std::ios::app | std::ios::binary);
  out << github_summary(report, kMost - used);
  if (!out.flush()) throw Error(std::string("cannot write the step summary '") + path + "'");
}

int gate_it(const Arguments& a) {
  if (a.budgets.empty() && a.baseline.empty())
    throw Error("say what to gate with: --budgets FILE (see cases/budgets), --baseline RECORD, or both");
  std::vector<Budget> budgets;
  for (const std::string& path : a.budgets)
    for (Budget& b : read_budgets(path)) budgets.push_back(std::move(b));
  const bool propose_baselines = std::any_of(a.propose.begin(), a.propose.end(),
                                             [](const std::string& p) { return p.ends_with(".json"); });
  const auto read = [&](const std::string& path, std::vector<JsonPlace> unread) {
    const std::vector<JsonPlace> explaining = explaining_places();
    unread.insert(unread.end(), explaining.begin(), explaining.end());
    if (!propose_baselines) unread.push_back({"results", "", "error", "ulp_histogram"});
    auto view = std::make_unique<RecordView>(read_record_view(path, unread));
    if (!propose_baselines) view->raw.reset();  // the documents are large, the views are not
    return view;
  };
  std::future<std::unique_ptr<RecordView>> other;
  if (!a.baseline.empty())
    other = std::async(std::launch::async, read, a.baseline,
                       std::vector<JsonPlace>{{"results", "", "error", "strata"}});
  const std::unique_ptr<RecordView> record_view = read(a.record, {});
  const RecordView& record = *record_view;
  const std::unique_ptr<RecordView> baseline = other.valid() ? other.get() : nullptr;
  const GateReport report = gate(record, budgets, baseline.get());
  std::fputs(render_gate(report).c_str(), stdout);
  if (a.github) {
    std::fputs(github_annotations(report).c_str(), stdout);
    add_step_summary(report);
  }
  if (!a.json.empty()) write_text(a.json, to_json(report).dump(1) + "\n");
  if (!a.gitlab.empty()) write_text(a.gitlab, gitlab_code_quality(report));
  for (const std::string& path : a.propose)
    write_new(path, path.ends_with(".json") ? propose_baseline(record, baseline.get()).dump(1) + "\n"
                                            : propose_budgets(record, budgets, report, today()));
  return report.exit_code;
}

const RegisterCommand registered{
    70, [](CLI::App& app, int& exit_code) {
      auto a = std::make_shared<Arguments>();
      CLI::App* command = app.add_subcommand("gate", "Compare a record with budgets and a baseline");
      command->add_option("RECORD", a->record, "A record of run, judge or merge")->required();
      command->add_option("--budgets", a->budgets, "Budgets (TOML); of several files the later decide");
      command->add_option("--baseline", a->baseline, "An accepted record: worse, changed or missing fails");
      command
          ->add_option(
              "--propose", a->propose,
              "Write budgets (FILE.toml) or a baseline (FILE.json) for review; never replaces a file")
          ->check(written_file());
      command->add_option("--json", a->json, "Write all findings here")->check(written_file());
      command->add_flag("--github", a->github, "Print annotations, and append to $GITHUB_STEP_SUMMARY");
      command->add_option("--gitlab", a->gitlab, "Write a code quality report here")->check(written_file());
      command->callback([a, &exit_code] { exit_code = gate_it(*a); });
    }};

}  // namespace
}  // namespace ulpscope
