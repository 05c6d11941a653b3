#pragma once
// What the tests of renderers share: a record that is hard on them, programs run from a test, files.
#include <cstdint>
#include <string>
#include <vector>

#include "reports/record_view.hpp"

namespace ulpscope::testing_reports {

/// A record with a result of every verdict, names and reasons full of markup, quotes and line breaks,
/// infinite figures, an excused nondeterminism, and a pass that was never judged.
std::string nasty_record();

/// `n` results of random figures (the same ones each time) with histogram and strata.
std::string large_record(int n);

/// Three results of one case with explanations, and its drift: a kernel in fp32, a library in TF32, and one
/// with the kernel's bits.
std::string explained_record();

std::string read_text(const std::string& path);

struct Ran {
  int code = -1;  // exit code
  std::string output;
};
/// Runs a shell command; its output and errors together.
Ran ran(const std::string& command);

/// A folder of this test's own below the temporary one, empty.
std::string fresh_folder(const std::string& name);

/// The words quoted for the shell, with blanks between.
std::string quoted(const std::vector<std::string>& words);

}  // namespace ulpscope::testing_reports
