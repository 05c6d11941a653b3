#pragma once
#include <functional>
#include <vector>

namespace CLI {
class App;
}

namespace ulpscope {

/// A command adds its subcommand to the app and, when chosen, sets the process's exit code. One file each:
/// harness/commands/<name>.cpp, which registers itself.
using AddCommand = std::function<void(CLI::App&, int& exit_code)>;

const std::vector<AddCommand>& commands();  // in the order of the design's command line

struct RegisterCommand {
  RegisterCommand(int position, AddCommand add);  // position orders --help
};

}  // namespace ulpscope
