#include "harness/commands/written_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "harness/io/atomic_file.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

/// The folder that a path lies in must be there: a mistyped one would be made without a word.
void check_folder_of(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  if (fs::exists(folder, error))
    throw Error("'" + folder.string() + "' is no folder: nothing can be written in it");
  throw Error("there is no folder '" + folder.string() + "': make it first (mkdir -p), or correct the path");
}

void check_writable(const std::string& path) {
  check_folder_of(path);
  std::error_code error;
  if (!fs::is_directory(path, error) && fs::exists(path, error) && !fs::is_regular_file(path, error))
    throw Error("'" + path + "' is no file: give the name of one to write");  // renaming would replace it
  const AtomicFile file(path);  // removes what lies beside the target again
  const int fd = ::open(file.beside().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) throw Error("cannot write '" + path + "': " + std::strerror(errno));
  ::close(fd);
}

constexpr const char* kWritten = "written file";

bool is_output(CLI::Option& option) {
  try {
    return option.get_validator(kWritten) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

/// The file that an argument names: FILE, or FILE:NAME of an archive.
fs::path file_named(const std::string& argument) {
  std::error_code error;
  if (fs::exists(argument, error)) return argument;
  return argument.substr(0, argument.rfind(':'));
}

}  // namespace

void check_outputs(const CLI::App& command) {
  std::vector<std::pair<std::string, std::string>> outputs;  // option, path
  std::vector<std::string> others;
  for (const CLI::Option* option : command.get_options()) {
    const bool output = is_output(const_cast<CLI::Option&>(*option));  // CLI11 only reads it there
    for (const std::string& value : option->results())
      if (output)
        outputs.emplace_back(option->get_name(), value);
      else
        others.push_back(value);
  }
  std::error_code error;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [name, path] = outputs[i];
    for (std::size_t j = 0; j < i; ++j)
      if (path == outputs[j].second ||
          fs::weakly_canonical(path, error) == fs::weakly_canonical(outputs[j].second, error))
        throw Error(name + " and " + outputs[j].first + " would write to the same place, '" + path +
                    "': name two");
    if (path == "-") continue;
    for (const std::string& other : others)
      if (fs::equivalent(path, file_named(other), error))
        throw Error(name + " would replace '" + path + "', which this command reads: name another file");
    const bool made_anew = name == "--propose";  // refuses whatever exists
    if (!made_anew && fs::path(path).extension() == ".toml" && fs::exists(path, error))
      throw Error(name + " would replace '" + path + "', which holds cases or budgets: name another file");
  }
}

CLI::Validator written_file(bool or_stdout) {
  return {[or_stdout](std::string& path) {
            if (path == "-" && or_stdout) return std::string();
            if (path == "-" || path.empty())
              throw Error("'" + path + "' is no file to write: give the name of one");
            check_writable(path);
            return std::string();
          },
          "", kWritten};
}

CLI::Validator kept_folder() {
  return {[](std::string& path) {
            if (path.empty()) throw Error("'' is no folder to keep files in: name one");
            const fs::path folder =
                fs::path(path).has_filename() ? fs::path(path) : fs::path(path).parent_path();
            check_folder_of(folder);
            std::error_code error;
            fs::create_directory(folder, error);
            if (error || !fs::is_directory(folder, error))
              throw Error("'" + path + "' is no folder that files can be kept in: name another");
            return std::string();
          },
          ""};
}

}  // namespace ulpscope
