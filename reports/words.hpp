#pragma once
// What every renderer says in the same words: how a result stands, the verdict of a record, figures.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reports/record_view.hpp"

namespace ulpscope {

/// How a reader has to take a result. Only `pass` is one.
enum class Standing : std::uint8_t {
  pass,
  fail,        // violated, structural, nondeterministic, unexplained
  vacuous,     // could not have failed
  unverified,  // a passing verdict without any judged output behind it: a record that was tampered with
  excused,     // declared nondeterminism within its spread bound
  skip,
  error
};
Standing standing(const ResultView& result);

/// Whether it must be shown as a failure: fail, vacuous, unverified, error.
bool is_finding(Standing s);

/// What of a result explains its verdict: the reason, or the verdict in words where it has none.
std::string reason_of(const ResultView& result);

struct Headline {
  std::string word;      // "Pass", "Fail", "Nothing proved", "Error"
  std::string sentence;  // why
  int exit_code = 0;     // of the record
};
Headline headline(const RecordView& record);

/// "tf32 (effective bf16)" where a probe found other operands than asked for.
std::string mode_words(const ResultView& result);

/// Three digits; "-" for nothing, "inf".
std::string figure(std::optional<double> x);
/// As many digits as bring the same number back.
std::string exact_figure(std::optional<double> x);
/// Largest |error| / bound, or nothing.
std::optional<double> headroom_of(const ResultView& result);
std::optional<double> max_error_of(const ResultView& result);

/// Lines of device, libraries and so on: "device", "NVIDIA H200, compute capability 9.0".
std::vector<std::pair<std::string, std::string>> environment_lines(const EnvironmentView& environment);

}  // namespace ulpscope
