// ulpscope judge CAPTURE...: judge stored captures, on any machine.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "harness/command_line.hpp"
#include "harness/commands.hpp"
#include "harness/commands/written_file.hpp"
#include "harness/judge_capture.hpp"
#include "harness/progress.hpp"
#include "harness/table.hpp"

namespace ulpscope {
namespace {

struct Arguments {
  std::vector<std::string> paths;
  std::string json, replay = "all";
  int threads = 0;
  bool explain = true;
};

int judge_them(const Arguments& a) {
  const auto replay =
      choice<ReplayChoice>("--replay", a.replay, {{"all", ReplayChoice::all}, {"none", ReplayChoice::none}});
  Progress progress;
  const Record record = judge_captures(
      a.paths, replay, a.threads, command_line(), [&](const std::string& line) { progress.say(line); },
      a.explain);
  std::fputs(render_table(record).c_str(), stdout);
  std::fflush(stdout);  // shown even if the record cannot be written
  if (!a.json.empty()) write_record(a.json, record);
  if (!a.json.empty()) std::printf("record: %s\n", a.json.c_str());
  return exit_code_of(record);
}

const RegisterCommand registered{
    10, [](CLI::App& app, int& exit_code) {
      auto a = std::make_shared<Arguments>();
      CLI::App* command = app.add_subcommand("judge", "Judge stored captures; no device needed");
      command->add_option("CAPTURE", a->paths, "Captures (.npz) or folders of them")->required();
      command->add_option("--json", a->json, "Write the record here")->check(written_file());
      command->add_option("--replay", a->replay, "all or none: replay declared plans (default all)");
      command->add_option("--threads", a->threads, "Host threads (default: all cores)")
          ->check(CLI::Range(1, 4096));
      command->add_flag("!--no-explain", a->explain,
                        "Keep no ladder of causes with results and no drift with cases");
      command->callback([a, &exit_code] { exit_code = judge_them(*a); });
    }};

}  // namespace
}  // namespace ulpscope
