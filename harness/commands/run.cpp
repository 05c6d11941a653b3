// ulpscope run CASE...: run and judge.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "harness/command_line.hpp"
#include "harness/commands.hpp"
#include "harness/commands/written_file.hpp"
#include "harness/judge_capture.hpp"
#include "harness/progress.hpp"
#include "harness/run.hpp"
#include "harness/selection.hpp"
#include "harness/suite.hpp"
#include "harness/sweep.hpp"
#include "harness/table.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

struct Arguments {
  std::vector<std::string> cases, modes;
  std::string folder = "cases", json, device = "auto", replay = "auto", shard, suite;
  bool list_only = false;
  std::int64_t sweep = 0, capture_kib = 16 << 10;
  std::uint64_t sweep_seed = 1;
  RunOptions options;
};

void list_jobs(const std::vector<Case>& cases, const RunOptions& options) {
  std::string no_cuda;
  if (options.device != DeviceChoice::cpu && !make_executor(Where::cuda, no_cuda) &&
      options.device == DeviceChoice::cuda)
    throw Error("--device cuda: " + no_cuda);
  for (const Case& test : cases)
    for (const Job& job : jobs_of(test, options, no_cuda))
      std::printf("%s %s %s%s%s\n", test.name.c_str(), job.variant->name.c_str(), to_string(job.mode),
                  job.skip.empty() ? "" : " skipped: ", job.skip.c_str());
}

/// The suite's own choices, where the command line makes none.
Suite take_suite(Arguments& a) {
  Suite suite = read_suite(a.folder, a.suite);
  a.cases.insert(a.cases.end(), suite.cases.begin(), suite.cases.end());
  if (a.options.variants.empty()) a.options.variants = suite.variants;
  if (a.device == "auto") a.device = suite.device;
  if (a.replay == "auto") a.replay = suite.replay;
  if (a.sweep == 0) a.sweep = suite.sweep;
  return suite;
}

int run(Arguments& a) {
  Suite suite;
  if (!a.suite.empty()) suite = take_suite(a);
  for (const std::string& mode : a.modes) a.options.modes.push_back(parse_mode(mode));
  const DeviceOption device = parse_device(a.device);
  a.options.device = device.where;
  a.options.workers = device.workers;
  a.options.replay = choice<ReplayChoice>(
      "--replay", a.replay,
      {{"auto", ReplayChoice::automatic}, {"all", ReplayChoice::all}, {"none", ReplayChoice::none}});
  a.options.argv = command_line();
  a.options.capture_bytes = a.capture_kib << 10;
  if (a.cases.empty() && a.sweep == 0 && a.suite.empty())
    throw Error("say what to run: cases by name, glob, file or tag, --suite NAME, or --sweep N");
  Selection selection;
  std::vector<Case>& cases = selection.cases;
  if (!a.cases.empty()) cases = cases_named(a.cases, a.folder);
  if (a.sweep > 0)
    for (Case& c : sweep_cases(a.sweep, a.sweep_seed)) cases.push_back(std::move(c));
  selection.captures = capture_paths(suite.captures);
  if (!suite.drift.empty()) selection.drift = cases_named(suite.drift, a.folder);
  if (!cases.empty()) check_selection(cases, a.options);
  nlohmann::json shard;
  if (!a.shard.empty()) {
    const Shard mine = parse_shard(a.shard);
    // How many workers a shard has decides nothing.
    std::vector<std::string> settings{a.suite, a.device.substr(0, a.device.find(':')), a.replay};
    for (const auto* list : {&a.options.variants, &a.modes})
      settings.insert(settings.end(), list->begin(), list->end());
    shard = shard_note(mine, selection, settings);
    check_repeats(selection, a.options);  // as a whole: merge would refuse it
    selection = dealt(mine, selection);
    a.options.selection_checked = true;  // as a whole: a variant may have no case in this shard
  }
  if (a.list_only) {
    list_jobs(cases, a.options);
    for (const std::string& path : selection.captures) std::printf("%s\n", path.c_str());
    for (const Case& test : selection.drift) std::printf("%s drift\n", test.name.c_str());
    return 0;
  }
  Progress progress;
  a.options.progress = [&](const std::string& line) { progress.say(line); };
  Record record = run_selection(selection, a.options);
  if (!shard.is_null()) record.environment["shard"] = shard;
  std::fputs(render_table(record).c_str(), stdout);
  std::fflush(stdout);  // shown even if the record cannot be written
  if (!a.json.empty()) write_record(a.json, record);
  if (!a.json.empty()) std::printf("record: %s\n", a.json.c_str());
  return exit_code_of(record);
}

const RegisterCommand registered{
    0, [](CLI::App& app, int& exit_code) {
      auto a = std::make_shared<Arguments>();
      CLI::App* command =
          app.add_subcommand("run", "Run variants of cases and judge every output against exact");
      command->add_option("CASE", a->cases, "Cases by name, glob, file or tag, or a case's text");
      command->add_option("--variant", a->options.variants, "Only variants of these names (globs)");
      command->add_option("--mode", a->modes, "Only these modes: fp32, tf32, strict, bf16, fp16");
      command->add_option("--device", a->device,
                          "auto, cpu, cuda (the first GPU); cuda:all, cuda:0,2: cases shared out among these "
                          "GPUs; cpu:4: among so many processes (default auto)");
      command->add_option("--threads", a->options.threads, "Host threads (default: all cores)")
          ->check(CLI::Range(1, 4096));
      command->add_option(
          "--replay", a->replay,
          "auto, all or none: replay declared plans on as many outputs as is quick, all, or none");
      command
          ->add_option("--captures", a->options.captures, "Keep captures here, and go on where a run stopped")
          ->check(kept_folder());
      command->add_option("--capture-kib", a->capture_kib, "Keep at most this much of an output, in windows")
          ->check(CLI::Range(1, 1 << 22));
      command->add_option("--sweep", a->sweep, "Also this many random problems, most of them unaligned")
          ->check(CLI::Range(1, 100000));
      command->add_option("--sweep-seed", a->sweep_seed, "Which random problems");
      command->add_option("--suite", a->suite, "What cases/suites/NAME.toml lists: smoke, ci, nightly, ...");
      command->add_option("--shard", a->shard, "i/n: only every n-th case, from the i-th; see merge");
      command->add_option("--json", a->json, "Write the record here")->check(written_file());
      command->add_option("--cases", a->folder, "Folder or file of cases (default: cases)");
      command->add_flag("!--no-explain", a->options.explain,
                        "Keep no ladder of causes with results and no drift with cases");
      command->add_flag("--list-only", a->list_only, "Only list what would run");
      command->callback([a, &exit_code] { exit_code = run(*a); });
    }};

}  // namespace
}  // namespace ulpscope
