#pragma once
namespace ulpscope {
/// Parses the command line, runs the command, and turns every failure into one line on stderr. Returns the
/// exit code.
int run_cli(int argc, char** argv);
}  // namespace ulpscope
