#pragma once
// A check for options that name a file to be written.
#include <CLI/CLI.hpp>

namespace ulpscope {

/// Refuses, while the command line is read and before any work, a path where no file can be written. "-"
/// passes where it means the standard output.
CLI::Validator written_file(bool or_stdout = false);

/// Refuses, before any work, a command whose output would replace a file that it reads, or another output, or
/// a TOML file (cases, budgets). Throws Error. For all options with the check above against all others.
void check_outputs(const CLI::App& command);

/// The same as the first for a folder to keep files in, which is made if only it is missing.
CLI::Validator kept_folder();

}  // namespace ulpscope
