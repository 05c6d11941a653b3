#include "harness/cli.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>

#include "harness/command_line.hpp"
#include "harness/commands.hpp"
#include "harness/commands/written_file.hpp"
#include "harness/suggest.hpp"
#include "harness/version.hpp"
#include "reference/error.hpp"

namespace ulpscope {

int run_cli(int argc, char** argv) {
  CLI::App app{
      "ulpscope: why do these floating-point results differ, by how much may they, and is that all right?"};
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  int exit_code = 0;
  set_command_line(argc, argv);
  for (auto& add : commands()) add(app, exit_code);
  for (CLI::App* command : app.get_subcommands({}))
    command->parse_complete_callback([command] { check_outputs(*command); });
  try {
    if (argc > 1 && argv[1][0] != '-') {
      std::vector<std::string> names;
      for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
      if (std::find(names.begin(), names.end(), argv[1]) == names.end())
        throw Error("unknown command '" + std::string(argv[1]) + "'" + suggestion(argv[1], names));
    }
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      throw Error("the standard output could not be written (a full disk, a closed pipe?)");
    return exit_code;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    std::fprintf(stderr, "ulpscope: %s (see --help)\n", e.what());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "ulpscope: out of host memory: choose a smaller case or fewer threads\n");
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ulpscope: %s\n", e.what());
    return 2;
  }
}

}  // namespace ulpscope
